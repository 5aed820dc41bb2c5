package process

import (
	"context"
	"fmt"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

var reference = regexp.MustCompile(`\$\(([A-Za-z_]+)\)`)

// Environment returns the variables of a container as a kubelet resolves them. fields has the values of the fields of
// its Pod.
func Environment(
	ctx context.Context, client kubernetes.Interface, namespace string, c *corev1.Container, fields map[string]string,
) (map[string]string, error) {
	values := map[string]string{}
	for _, v := range c.Env {
		values[v.Name] = Expand(v.Value, values)
		switch from := v.ValueFrom; {
		case from == nil:
		case from.FieldRef != nil:
			value, known := fields[from.FieldRef.FieldPath]
			if !known {
				return nil, fmt.Errorf("no value of %s for the variable %s", from.FieldRef.FieldPath, v.Name)
			}
			values[v.Name] = value
		case from.SecretKeyRef != nil:
			secret, err := client.CoreV1().Secrets(namespace).Get(ctx, from.SecretKeyRef.Name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			values[v.Name] = string(secret.Data[from.SecretKeyRef.Key])
		default:
			return nil, fmt.Errorf("the variable %s has an unknown source", v.Name)
		}
	}
	return values, nil
}

// Expand puts values in place of $(NAME).
func Expand(text string, values map[string]string) string {
	return reference.ReplaceAllStringFunc(text, func(s string) string {
		if value, known := values[reference.FindStringSubmatch(s)[1]]; known {
			return value
		}
		return s
	})
}
