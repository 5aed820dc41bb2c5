package tamper

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// stub is a valid object of one resource, as Kubernetes' own tests of its storage have it.
type stub struct {
	resource schema.GroupVersionResource
	content  map[string]any
}

// stubs reads the stubs from the source of the control plane's Kubernetes version: a new version includes its new
// kinds.
func stubs(ctx context.Context) ([]stub, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes")
	list.Dir = filepath.Join("..", "controlplane")
	dir, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("find the source of Kubernetes: %w", err)
	}
	file := filepath.Join(strings.TrimSpace(string(dir)), "test", "integration", "etcd", "data.go")
	source, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		return nil, fmt.Errorf("parse the stubs: %w", err)
	}
	var found []stub
	ast.Inspect(source, func(n ast.Node) bool {
		entry, ok := n.(*ast.KeyValueExpr)
		if !ok || err != nil {
			return err == nil
		}
		resource, ok := resourceOf(entry.Key)
		if !ok {
			return true
		}
		literal := stubIn(entry.Value)
		if literal == "" {
			return true // a resource in another table
		}
		content := map[string]any{}
		if err = utiljson.Unmarshal([]byte(literal), &content); err != nil {
			err = fmt.Errorf("decode the stub of %s: %w", resource, err)
		}
		found = append(found, stub{resource, content})
		return true
	})
	return found, err
}

// resourceOf reads an expression like gvr("apps", "v1", "deployments").
func resourceOf(e ast.Expr) (schema.GroupVersionResource, bool) {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 3 {
		return schema.GroupVersionResource{}, false
	}
	if name, ok := call.Fun.(*ast.Ident); !ok || name.Name != "gvr" {
		return schema.GroupVersionResource{}, false
	}
	return schema.GroupVersionResource{Group: text(call.Args[0]), Version: text(call.Args[1]),
		Resource: text(call.Args[2])}, true
}

// stubIn returns the field Stub of a composite literal.
func stubIn(e ast.Expr) string {
	literal, ok := e.(*ast.CompositeLit)
	if !ok {
		return ""
	}
	for _, element := range literal.Elts {
		field, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if name, ok := field.Key.(*ast.Ident); ok && name.Name == "Stub" {
			return text(field.Value)
		}
	}
	return ""
}

// text evaluates an expression of strings. A variable stands for an image or a namespace, and any name is valid.
func text(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.BasicLit:
		if value, err := strconv.Unquote(x.Value); err == nil {
			return value
		}
	case *ast.BinaryExpr:
		return text(x.X) + text(x.Y)
	case *ast.Ident:
		return "default"
	}
	return ""
}

// served returns the stubs of served kinds as manifests. unserved counts the rest.
func served(all []stub, kinds map[schema.GroupVersionResource]string) (manifests []map[string]any, unserved int) {
	for _, s := range all {
		kind, ok := kinds[s.resource]
		if !ok || isUnfit(s.resource) {
			unserved++
			continue
		}
		s.content["apiVersion"], s.content["kind"] = s.resource.GroupVersion().String(), kind
		manifests = append(manifests, s.content)
	}
	slices.SortFunc(manifests, func(a, b map[string]any) int { return strings.Compare(nameOf(a), nameOf(b)) })
	return manifests, unserved
}

// isUnfit reports resources whose objects do not last: the API server itself removes versions of its storage and
// APIServices of groups that it does not serve, and Events expire.
func isUnfit(r schema.GroupVersionResource) bool {
	switch r.Resource {
	case "storageversions", "apiservices", "events":
		return true
	}
	return false
}

func nameOf(manifest map[string]any) string {
	u := unstructured.Unstructured{Object: manifest}
	return u.GetAPIVersion() + " " + u.GetKind() + " " + u.GetName()
}

// document returns manifests as one text. JSON is YAML, too.
func document(manifests []map[string]any) (string, error) {
	var b strings.Builder
	for _, m := range manifests {
		content, err := json.Marshal(m)
		if err != nil {
			return "", fmt.Errorf("encode %s: %w", nameOf(m), err)
		}
		b.WriteString("---\n" + string(content) + "\n")
	}
	return b.String(), nil
}
