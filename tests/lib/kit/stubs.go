package kit

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// FeaturesOfStubs are the feature gates for all kinds with stubs.
const FeaturesOfStubs = "DRADeviceTaints=true,DRADeviceTaintRules=true,DRAResourcePoolStatus=true," +
	"ClusterTrustBundle=true,PodCertificateRequest=true,CoordinatedLeaderElection=true,GenericWorkload=true," +
	"MutatingAdmissionPolicy=true"

// Stub is a valid object of one resource, as Kubernetes' own tests of its storage have it.
type Stub struct {
	Resource schema.GroupVersionResource
	Content  map[string]any
}

// Stubs reads the stubs from the source of the control plane's Kubernetes version: a new version includes its new
// kinds.
func Stubs(ctx context.Context) ([]Stub, error) {
	_, dir, err := cluster.Module(ctx, "", "k8s.io/kubernetes")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "test", "integration", "etcd", "data.go")
	source, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		return nil, fmt.Errorf("parse the stubs: %w", err)
	}
	var found []Stub
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
		found = append(found, Stub{resource, content})
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
