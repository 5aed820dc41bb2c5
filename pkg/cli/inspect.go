package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/release/whole"
	"github.com/rancher/helm-locker/pkg/report"
)

func inspectCommand(a *action) *cli.Command {
	flags := append(clusterFlags(namespaceOfRelease),
		&cli.IntFlag{Name: "revision", Category: categoryWhat, HideDefault: true, Validator: positive,
			Usage: "revision `N` of the release; the newest without it"},
		fileFlag(),
		&cli.BoolFlag{Name: "manifest", Category: categoryOutput, Usage: "print the manifest, which is without hooks"},
		&cli.BoolFlag{Name: "values", Category: categoryOutput, Usage: "print the values that the user gave, as YAML"},
		&cli.BoolFlag{Name: "notes", Category: categoryOutput, Usage: "print the notes of the chart"},
		command.OneOf(&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Category: categoryOutput,
			Usage: "print all of it, or with --values these, as `FORMAT`: json or yaml"}, formatJSON, formatYAML),
		&cli.BoolFlag{Name: "json", Category: categoryOutput, Usage: "the same as -o json"},
		&cli.BoolFlag{Name: "show-secrets", Category: categoryOutput, Usage: "do not mask the values of Secrets"},
	)
	return &cli.Command{
		Name: "inspect", Category: categoryLook, Usage: "show what Helm stored about a release", ArgsUsage: "RELEASE",
		Description: "Decodes the record of a release: a summary or, with a flag, a part of it.\n" +
			"Values of Secrets in the manifest are replaced by markers, <secret 1f2e3d4c>, wherever they occur in values and notes\n" +
			"too; equal markers in one output stand for equal values. --show-secrets leaves them as they are.",
		Flags: flags, Action: a.does(runInspect),
	}
}

func runInspect(ctx context.Context, a *action) error {
	part, format, err := inspected(a)
	if err != nil {
		return err
	}
	details, err := loadRelease(ctx, a)
	if err != nil {
		return err
	}
	masker, err := newMasker(a.cmd.Bool("show-secrets"))
	if err != nil {
		return err
	}
	shown, err := mask(details, masker, part)
	if err != nil {
		return err
	}
	return showDetails(a, shown, part, format)
}

// partAll is all of a release, in a format for programs.
const partAll = "all"

// inspected returns the requested part of a release and its format; empty for a summary, and for text.
func inspected(a *action) (part, format string, err error) {
	var parts []string
	for _, part := range [...]string{"manifest", "values", "notes", "json"} {
		if a.cmd.Bool(part) {
			parts = append(parts, part)
		}
	}
	format = a.cmd.String("output")
	switch {
	case len(parts) > 1:
		err = fmt.Errorf("--%s and --%s exclude each other", parts[0], parts[1])
	case len(parts) == 1 && format != "" && parts[0] != "values":
		err = fmt.Errorf("--%s and --output exclude each other", parts[0])
	case a.cmd.Bool("json"):
		return partAll, formatJSON, nil
	case len(parts) == 1:
		return parts[0], format, nil
	case format != "":
		return partAll, format, nil
	}
	if err != nil {
		err = a.misused(err)
	}
	return "", format, err
}

// load reads the release selected by arguments and flags, from the cluster or a file.
func loadRelease(ctx context.Context, a *action) (*whole.Release, error) {
	if a.cmd.String("filename") != "" {
		saved, err := a.readFile(a.cmd.String("filename"))
		if err != nil {
			return nil, err
		}
		key, err := keyInFile(a)
		if err != nil {
			return nil, err
		}
		return saved.Find(key, a.cmd.Int("revision"))
	}
	args, err := needed(a, "the name of a release")
	if err != nil {
		return nil, err
	}
	c, err := a.connect(ctx)
	if err != nil {
		return nil, err
	}
	key, err := c.key(args[0])
	if err != nil {
		return nil, err
	}
	record, err := c.Find(ctx, key, a.cmd.Int("revision"))
	if err != nil {
		return nil, err
	}
	return c.Read(ctx, record)
}

// keyInFile returns the wanted release of a file. The name is optional. It ignores the namespace of the environment,
// which belongs to the cluster.
func keyInFile(a *action) (release.Key, error) {
	var key release.Key
	switch a.cmd.Args().Len() {
	case 0:
	case 1:
		namespace, name, found := strings.Cut(a.cmd.Args().First(), "/")
		if found {
			return release.Key{Namespace: namespace, Name: name}, nil
		}
		key.Name = namespace
	default:
		return key, a.misused(fmt.Errorf("unexpected argument %q", a.cmd.Args().Get(1)))
	}
	if namespace := a.cmd.String("namespace"); namespace != a.env("HELM_NAMESPACE") {
		key.Namespace = namespace
	}
	return key, nil
}

func (a *action) readFile(name string) (saved *inspect.Saved, err error) {
	if name == "-" {
		return inspect.ReadSaved(a.in, "standard input")
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return inspect.ReadSaved(file, name)
}

// mask returns the release without values of Secrets in the requested part.
func mask(details *whole.Release, masker report.Masker, part string) (*whole.Release, error) {
	if masker.Show || part == "" {
		return details, nil
	}
	shown := *details
	shown.Manifest = masker.Manifest(details.Manifest)
	if part == "manifest" {
		return &shown, nil
	}
	texts := []string{details.Manifest}
	for _, hook := range details.Hooks {
		texts = append(texts, hook.Manifest)
	}
	secrets, err := report.ValuesIn(texts...)
	if err != nil {
		return nil, command.Hinted(fmt.Errorf("the output may hold values of Secrets that cannot be found: %w", err),
			"--show-secrets prints it as it is; --manifest shows what is wrong with the manifest")
	}
	shown.Notes = masker.Text(details.Notes, secrets)
	shown.Values, err = maskJSON(details.Values, masker, secrets)
	return &shown, err
}

func showDetails(a *action, d *whole.Release, part, format string) error {
	var text string
	switch part {
	case "":
		text = summary(d, a.now())
	case "manifest":
		text = plain.Block(d.Manifest)
	case "notes":
		text = plain.Block(d.Notes)
	default:
		shown, err := detailsOf(d)
		if err != nil {
			return err
		}
		format = cmp.Or(format, formatYAML)
		if part == "values" {
			text, err = encode(shown.Values, format)
		} else {
			text, err = encodeList(kindReleases, []*detailsOut{shown}, nil, format)
		}
		if err != nil {
			return err
		}
	}
	if text != "" && text[len(text)-1] != '\n' {
		text += "\n"
	}
	return a.write(text)
}

// needed returns the arguments of a command, exactly one for each element of what, their names.
func needed(a *action, what ...string) ([]string, error) {
	args := a.cmd.Args().Slice()
	switch {
	case len(args) < len(what):
		return nil, a.misused(fmt.Errorf("%s is missing", what[len(args)]))
	case len(args) > len(what):
		err := fmt.Errorf("unexpected argument %q", args[len(what)])
		return nil, a.misused(err)
	}
	return args, nil
}
