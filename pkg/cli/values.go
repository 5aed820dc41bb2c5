package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/cli/render"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/values"
)

func valuesCommand(a *action) *cli.Command {
	flags := slices.Concat(clusterFlags(namespaceOfRelease), []cli.Flag{
		helmReleaseNamespaceFlag(),
		&cli.StringFlag{Name: "chart", Category: categoryWhat, TakesFile: true,
			Usage: "the chart as a package `FILE` (.tgz), for charts with sub-charts, which Helm does not record"},
		&cli.StringFlag{Name: "kube-version", Category: categoryWhat,
			Usage: "the `VERSION` of Kubernetes that templates see; that of the cluster without it"},
		&cli.StringSliceFlag{Name: "api-versions", Aliases: []string{"a"}, Category: categoryWhat,
			Usage: "an API `VERSION` that templates see beside those of the cluster, such as monitoring.coreos.com/v1; may be repeated"},
		&cli.BoolFlag{Name: "lookup", Category: categoryWhat,
			Usage: "let templates read the cluster by lookup, as helm upgrade does, with your rights; it finds nothing without this flag"},
		&cli.DurationFlag{Name: "timeout", Value: time.Minute, Category: categoryWhat,
			Usage: "how `LONG` rendering may take"},
		outputFlag("text, json or yaml", formatText, formatJSON, formatYAML),
		&cli.StringFlag{Name: "chart-out", Category: categoryOutput, TakesFile: true,
			Usage: "write the recorded chart as a package that helm upgrade takes into a `DIRECTORY`"},
		&cli.StringFlag{Name: "write", Category: categoryOutput, TakesFile: true,
			Usage: "set the values in a YAML `FILE` too, which is made when there is none and keeps its comments; values of Secrets are not masked there"},
		&cli.BoolFlag{Name: "show-secrets", Category: categoryOutput, Usage: "do not mask the values of Secrets"},
	})
	return &cli.Command{
		Name: "values", Category: categoryLook, Usage: "show which Helm value governs a field, and the command that changes it",
		ArgsUsage: "RELEASE [KIND/NAME PATH=VALUE...]",
		Description: "Finds the value of the chart that makes a field what it is, by rendering the chart in the release's record with other values.\n" +
			"Without KIND/NAME it is about all fields that differ from the cluster now, as diff sees them, and about their live values.\n" +
			"A printed command is verified: rendered with it, the field is as wanted, and all other fields that change are printed.\n" +
			"VALUE is YAML; null takes the field away. PATH is as diff prints it, or a JSON pointer.\n" +
			"Templates run in a process of their own, with bounded time and memory, and without access to the cluster or the network.\n" +
			"Objects for lookup are read outside of that process, by GET requests alone.\n\n" +
			"Exit code 0: a value was found for every field; 2: not for all; 1: an error.",
		Flags: flags, Action: a.does(runValues),
	}
}

func checkValuesFlags(a *action) error {
	if a.cmd.String("chart") != "" && a.cmd.String("chart-out") != "" {
		return a.misused(errors.New("--chart and --chart-out exclude each other"))
	}
	if args := a.cmd.Args().Slice(); len(args) == 0 || len(args) == 2 {
		missing := [...]string{"the name of a release", "", "PATH=VALUE"}[len(args)]
		return a.misused(fmt.Errorf("%s is missing", missing))
	}
	return nil
}

func runValues(ctx context.Context, a *action) error {
	if err := checkValuesFlags(a); err != nil {
		return err
	}
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	v, err := loadValued(ctx, a, c)
	if err != nil {
		return err
	}
	if v.masker, err = newMasker(a.cmd.Bool("show-secrets")); err != nil {
		return err
	}
	if dir := a.cmd.String("chart-out"); dir != "" {
		if v.archive, err = v.source.Save(dir); err != nil {
			return missingCharts(err)
		}
		a.note("the chart is in %s", v.archive)
	}
	questions, err := v.questions(ctx, c)
	if err != nil {
		return err
	}
	if len(questions) == 0 {
		a.note("release %s has no field that differs from the cluster", v.details.Key)
		return nil
	}
	answers, err := v.answers(ctx, c, questions)
	if err != nil {
		return err
	}
	if err := writeValues(a.cmd.String("write"), answers); err != nil {
		return err
	}
	runs, err := v.upgrades(answers, v.mask)
	if err != nil {
		return err
	}
	text, err := v.output(answers, runs, a.cmd.String("output"))
	if err != nil {
		return err
	}
	if err := a.write(text); err != nil {
		return err
	}
	if v.archive == "" && slices.ContainsFunc(runs, func(u *upgrade) bool { return u != nil }) {
		a.note("%s.tgz is the chart recorded in revision %d; --chart-out . writes it", answers.Chart, v.details.Revision)
	}
	if slices.ContainsFunc(answers.Answers, func(a values.Answer) bool { return len(a.Settings) == 0 }) {
		return &command.ExitError{Code: command.ExitFound}
	}
	return nil
}

// answers renders the chart to answer questions.
func (v *valued) answers(
	ctx context.Context, c *connection, questions []values.Question,
) (*values.Answers, error) {
	request := render.Request{Source: v.source, Questions: questions, Lookup: v.cmd.Bool("lookup")}
	cluster := render.NewLookups(c.Discovery.RESTClient())
	answers, err := render.Ask(ctx, v.cmd.Duration("timeout"), request, cluster)
	v.secrets = append(v.secrets, cluster.Secrets...)
	switch {
	case cluster.HasTooManySecrets() && !v.masker.Show:
		return nil, command.Hinted(fmt.Errorf("the templates look up more than %d MiB of Secrets, too much to mask",
			render.MaxSecrets>>20), "--show-secrets prints the output as it is")
	case err != nil:
		return nil, missingCharts(v.hidden(err))
	}
	if n := len(answers.Mismatch); n > 0 {
		v.note("note: the chart with its values does not render to the recorded manifest: %s. An upgrade changes "+
			"more than is shown, so that no command is printed", plain.Count(n, "other field"))
		if len(answers.Lookups) > 0 {
			v.note("note: lookup finds nothing without --lookup; it is called in %s",
				strings.Join(answers.Lookups, ", "))
		}
	}
	return answers, nil
}

// questions returns those of the command line, or else those about what differs.
func (v *valued) questions(ctx context.Context, c *connection) ([]values.Question, error) {
	if v.cmd.Args().Len() == 1 {
		return v.differing(ctx, c)
	}
	return v.asked(v.cmd.Args().Get(1), v.cmd.Args().Slice()[2:])
}

// writeValues sets the values of answers in a file; none for an empty name.
func writeValues(name string, answers *values.Answers) error {
	if name == "" {
		return nil
	}
	if len(answers.Mismatch) > 0 {
		return errors.New("the chart with its values does not render to the recorded manifest, so no value is written")
	}
	file, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var settings []values.Setting
	for _, a := range answers.Answers {
		settings = append(settings, a.Settings...)
	}
	if file, err = values.Merge(file, settings); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(name, file, 0o600) //nolint:gosec // the user names the file
}

// renderCommand is the process in which charts are rendered.
func renderCommand(a *action) *cli.Command {
	return &cli.Command{
		Name: render.Command, Hidden: true, HideHelpCommand: true,
		Usage:  "answer the questions on standard input; for helm-locker values",
		Action: func(context.Context, *cli.Command) error { return render.Serve(a.in, a.out, a.errOut) },
	}
}
