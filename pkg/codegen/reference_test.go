package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestConstantTables(t *testing.T) {
	tests := []struct {
		name, source, want string
		fails              bool
	}{
		{
			name:   "a group becomes a paragraph and a table",
			source: "// Reasons of\n// Ready.\nconst (\n// ReasonA: it is so.\nReasonA = \"A\"\n// ReasonB (True): it is\n// a|b.\nReasonB = \"B\"\n)",
			want:   "\nReasons of Ready.\n\n| Value | Meaning |\n| --- | --- |\n| `A` | It is so. |\n| `B` | (True) It is a\\|b. |\n",
		},
		{
			name:   "is is left out",
			source: "const (\n// C is True when it is.\nC = \"C\"\n)",
			want:   "\n| Value | Meaning |\n| --- | --- |\n| `C` | True when it is. |\n",
		},
		{name: "a constant without a comment is an error", source: "const (\nA = \"A\"\n)", fails: true},
		{name: "a constant that is no string is an error", source: "const (\n// A is.\nA = 1\n)", fails: true},
		{name: "other declarations are left out", source: "// T is a type.\ntype T string", want: ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.go")
			check.NoError(t, os.WriteFile(path, []byte("package a\n\n"+test.source+"\n"), 0o600))
			got, err := constantTables(path)
			check.Must(t, (err != nil) == test.fails, "error: %v", err)
			check.That(t, got == test.want, "got\n%s\nwant\n%s", got, test.want)
		})
	}
}
