package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/report"
)

func (a *app) inspectCommand() *cli.Command {
	flags := append(clusterFlags(namespaceOfRelease),
		&cli.IntFlag{Name: "revision", Category: categoryWhat, HideDefault: true, Validator: positive,
			Usage: "revision `N` of the release; the newest without it"},
		fileFlag(),
		&cli.BoolFlag{Name: "manifest", Category: categoryOutput, Usage: "print the manifest, which is without hooks"},
		&cli.BoolFlag{Name: "values", Category: categoryOutput, Usage: "print the values that the user gave, as YAML"},
		&cli.BoolFlag{Name: "notes", Category: categoryOutput, Usage: "print the notes of the chart"},
		&cli.BoolFlag{Name: "json", Category: categoryOutput, Usage: "print all of it, as JSON"},
		&cli.BoolFlag{Name: "show-secrets", Category: categoryOutput, Usage: "do not mask the values of Secrets"},
	)
	return &cli.Command{
		Name: "inspect", Category: categoryLook, Usage: "show what Helm stored about a release", ArgsUsage: "RELEASE",
		Description: "Decodes the record of a release: a summary or, with a flag, a part of it.\n" +
			"Values of Secrets in the manifest are replaced by markers, <secret 1f2e3d4c>, wherever they occur in values and notes\n" +
			"too; equal markers in one output stand for equal values. --show-secrets leaves them as they are.",
		Flags: flags, Action: a.inspect,
	}
}

func fileFlag() cli.Flag {
	return &cli.StringFlag{Name: "filename", Aliases: []string{"f"}, Category: categoryWhat, TakesFile: true,
		Usage: "read the release from a `FILE` (- for standard input) instead of the cluster: release Secrets as kubectl prints them, " +
			"or the payload of one, encoded or not"}
}

func (a *app) inspect(ctx context.Context, cmd *cli.Command) error {
	var parts []string
	for _, part := range [...]string{"manifest", "values", "notes", "json"} {
		if cmd.Bool(part) {
			parts = append(parts, part)
		}
	}
	if len(parts) > 1 {
		return usageError(ctx, cmd, fmt.Errorf("--%s and --%s exclude each other", parts[0], parts[1]), true)
	}
	details, err := a.load(ctx, cmd)
	if err != nil {
		return err
	}
	masker, err := a.masker(cmd.Bool("show-secrets"))
	if err != nil {
		return err
	}
	shown, err := mask(details, masker, parts)
	if err != nil {
		return err
	}
	return a.showDetails(shown, parts)
}

// load reads the release that arguments and flags name, from the cluster or a file.
func (a *app) load(ctx context.Context, cmd *cli.Command) (*release.Details, error) {
	if cmd.String("filename") != "" {
		saved, err := a.readFile(cmd.String("filename"))
		if err != nil {
			return nil, err
		}
		key, err := a.keyInFile(ctx, cmd)
		if err != nil {
			return nil, err
		}
		return saved.Find(key, cmd.Int("revision"))
	}
	args, err := needed(cmd, "the name of a release")
	if err != nil {
		return nil, err
	}
	c, err := a.connect(ctx, cmd)
	if err != nil {
		return nil, err
	}
	key, err := c.key(args[0])
	if err != nil {
		return nil, err
	}
	record, err := c.Find(ctx, key, cmd.Int("revision"))
	if err != nil {
		return nil, err
	}
	return c.Read(ctx, record)
}

// keyInFile returns what is to be looked for in a file: a name may be given. A namespace counts when it is given by
// a flag; that of the environment is about the cluster.
func (a *app) keyInFile(ctx context.Context, cmd *cli.Command) (release.Key, error) {
	var key release.Key
	switch cmd.Args().Len() {
	case 0:
	case 1:
		namespace, name, found := strings.Cut(cmd.Args().First(), "/")
		if found {
			return release.Key{Namespace: namespace, Name: name}, nil
		}
		key.Name = namespace
	default:
		return key, usageError(ctx, cmd, fmt.Errorf("unexpected argument %q", cmd.Args().Get(1)), true)
	}
	if namespace := cmd.String("namespace"); namespace != a.env("HELM_NAMESPACE") {
		key.Namespace = namespace
	}
	return key, nil
}

func (a *app) readFile(name string) (saved *inspect.Saved, err error) {
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

// mask returns the release without values of Secrets in what is going to be shown.
func mask(details *release.Details, masker report.Masker, parts []string) (*release.Details, error) {
	if masker.Show || len(parts) == 0 {
		return details, nil
	}
	shown := *details
	shown.Manifest = masker.Manifest(details.Manifest)
	if parts[0] == "manifest" {
		return &shown, nil
	}
	texts := []string{details.Manifest}
	for _, hook := range details.Hooks {
		texts = append(texts, hook.Manifest)
	}
	secrets, err := report.ValuesIn(texts...)
	if err != nil {
		return nil, hinted(fmt.Errorf("the %s may hold values of Secrets that cannot be told: %w", parts[0], err),
			"--show-secrets prints it as it is; --manifest shows what is wrong with the manifest")
	}
	shown.Notes = masker.Text(details.Notes, secrets)
	shown.Values, err = maskJSON(details.Values, masker, secrets)
	return &shown, err
}

func (a *app) showDetails(d *release.Details, parts []string) error {
	var text string
	switch {
	case len(parts) == 0:
		text = summary(d, a.now())
	case parts[0] == "manifest":
		text = report.Block(d.Manifest)
	case parts[0] == "notes":
		text = report.Block(d.Notes)
	case parts[0] == "values":
		values, err := valuesYAML(d)
		if err != nil {
			return err
		}
		text = report.Block(values)
	default:
		encoded, err := detailsJSON(d)
		if err != nil {
			return err
		}
		text = encoded
	}
	if text != "" && text[len(text)-1] != '\n' {
		text += "\n"
	}
	_, err := io.WriteString(a.out, text)
	return err
}
