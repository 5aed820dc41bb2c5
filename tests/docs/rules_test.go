package docs

import (
	"slices"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

const sample = `# A page

<!-- given: operator, lock -->

~~~sh
kubectl get pods \
  -A
kubectl apply -f - <<EOF
a: b

EOF
# a remark
helm-locker diff shop -n apps   # exit code 2
~~~

~~~text
printed
~~~

<!-- not run: needs Docker -->

~~~sh
make image
~~~

<!-- any other comment -->

~~~console
$ echo one
one
$ for i in 1 2; do
> echo $i; done
1
2
~~~

~~~text
a drawing
~~~
`

func TestPagesAreReadByTheRules(t *testing.T) {
	p, err := parse("page.md", strings.ReplaceAll(sample, "~~~", "```"))
	check.NoError(t, err)
	check.Must(t, slices.Equal(p.given, []string{"operator", "lock"}) && len(p.blocks) == 3, "given %q, %d blocks",
		p.given, len(p.blocks))
	var lines []int
	for _, c := range p.blocks[0].commands {
		lines = append(lines, c.line)
	}
	if !slices.Equal(lines, []int{6, 8, 13}) || !strings.HasSuffix(p.blocks[0].commands[1].text, "\n\nEOF") {
		t.Errorf("commands at lines %v: %+v", lines, p.blocks[0].commands)
	}
	check.That(t, exitCode(p.blocks[0].commands[2].text) == 2 && exitCode(p.blocks[0].commands[0].text) == 0,
		"exit codes are not read")
	out := p.blocks[0].output
	check.That(t, out != nil && out.line == 17, "output is %+v", out)
	check.That(t, p.blocks[0].notRun == "" && p.blocks[2].notRun == "", "blocks without a marker are not run")
	b := p.blocks[1]
	check.That(t, b.notRun == "needs Docker" && b.output == nil, "block is %+v", b)
	c := p.blocks[2].commands
	check.That(t,
		len(c) == 2 && c[1].text == "for i in 1 2; do\necho $i; done" && len(c[1].output.lines) == 2 &&
			p.blocks[2].output == nil, "commands are %+v", c)
}

// A page without a rule is an error with page and line, and not a command that never runs.
func TestPagesThatCannotBeRunSayWhere(t *testing.T) {
	for text, want := range map[string]string{
		"~~~sh\nfor i in 1; do\n~~~\n":                          "page.md:2: bash does not find the end",
		"~~~bash\ntrue\n~~~\n":                                  "page.md:1: blocks of commands are ```sh",
		"Text\n\n    make build\n":                              "page.md:3: commands stand in ```sh blocks",
		"~~~console\nout\n~~~\n":                                "page.md:1: this output belongs to no block",
		"<!-- not run: -->\n~~~sh\ntrue\n~~~\n":                 `page.md:2: "not run:" stands above a block of commands, and says why`,
		"~~~sh\ntrue\n~~~\n<!-- given: shop -->\n":              `page.md:4: "given:" stands above`,
		"~~~sh\ntrue\n":                                         "page.md:1: this block does not end",
		"~~~sh\ntrue\n~~~\n~~~text\na\n~~~\n~~~console\nb\n~~~": "page.md:7: this output belongs to no block",
	} {
		_, err := parse("page.md", strings.ReplaceAll(text, "~~~", "```"))
		check.That(t, err != nil && strings.HasPrefix(err.Error(), want), "%q: error %v, want %s", text, err, want)
	}
}

func TestOutputsAreComparedByTheRules(t *testing.T) {
	same := map[string]string{
		"NAME   AGE\nshop   5s":               "NAME      AGE\nshop      2m13s",
		"a\n[...]\nz":                         "a\nb\nc\nz\n",
		"at 2026-11-21T16:03:11Z":             "at 2027-01-01T00:00:00.123456Z",
		"16:03:11.723  x":                     "01:02:03  x",
		"restored in 53ms":                    "restored in 1.2s",
		"  password: <secret 1f2e3d4c>":       "  password: <secret 00000000>",
		"helm-locker v0.0.0-0123456789ab":     "helm-locker v1.2.3",
		"pod/helm-locker-6d4cf56db6-x7k2p ok": "pod/helm-locker-0123456789-abcde ok",
		"met": `I1128 14:17:51.1 20891 reflector.go:664] "Warning: watch ended with error" reflector="x"` +
			"\nmet",
		// The watch mixes the progress of two releases.
		"a\nrelease n/a: waiting for x\nrelease n/a: done\nrelease n/b: waiting for x\nb": "a\n" +
			"release n/b: waiting for x\nrelease n/a: waiting for x\nrelease n/a: done\nb",
	}
	for want, got := range same {
		err := differs(strings.Split(want, "\n"), got)
		check.That(t, err == nil, "%q against %q: %v", want, got, err)
	}
	different := map[string]string{
		"shop 5s":   "shops 5s",
		"a\nb":      "a",
		"a":         "a\nb",
		"  a: b":    "a: b", // indentation has a meaning in YAML
		"drifted 0": "drifted 1",
		"a\n[...]":  "b",
		// The progress of one release has an order.
		"release n/a: waiting for x\nrelease n/a: done": "release n/a: done\nrelease n/a: waiting for x",
	}
	for want, got := range different {
		check.That(t, differs(strings.Split(want, "\n"), got) != nil, "%q is taken for %q", got, want)
	}
}
