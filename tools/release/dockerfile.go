package main

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerfile/shell"
)

// recipe is the last stage of a Dockerfile: the content of the image and its command.
type recipe struct {
	labels     map[string]string
	user       string
	entrypoint []string
	// files maps the paths of the image's files to their origins.
	files map[string]origin
	// staged maps outputs of the build stage, by their path there, to the files in their place.
	staged map[string]string
}

// builtPrograms is the start of the paths of the programs in the build stage.
const builtPrograms = "/out/helm-locker"

// origin is the source of a file of the image: a file of this machine, or a program for the image's platform, by its
// path in the build stage.
type origin struct {
	file, program string
}

// readDockerfile reads the last stage of the Dockerfile in a build context. It refuses every instruction that an image
// of static binaries does not need, so the image is the same as docker build's. The files in staged replace those
// that the build stage writes beside the programs.
func readDockerfile(context string, arguments, staged map[string]string) (*recipe, error) {
	file, err := os.Open(filepath.Join(context, "Dockerfile"))
	if err != nil {
		return nil, err
	}
	parsed, err := parser.Parse(file)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("Dockerfile: %w", err)
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		return nil, fmt.Errorf("Dockerfile: %w", err)
	}
	if len(stages) == 0 {
		return nil, fmt.Errorf("Dockerfile: it has no stage")
	}
	last := stages[len(stages)-1]
	if last.BaseName != "scratch" {
		return nil, fmt.Errorf("Dockerfile: the last stage is FROM %s; only scratch is nothing to fetch", last.BaseName)
	}
	r := &recipe{labels: map[string]string{}, files: map[string]origin{}, staged: staged}
	known := map[string]string{}
	for _, command := range last.Commands {
		if err := r.do(command, context, arguments, known); err != nil {
			return nil, fmt.Errorf("Dockerfile, %s: %w", command.Name(), err)
		}
	}
	return r, nil
}

func (r *recipe) do(command instructions.Command, context string, arguments, known map[string]string) error {
	if expandable, ok := command.(instructions.SupportsSingleWordExpansion); ok {
		if err := expandable.Expand(expander(known)); err != nil {
			return err
		}
	}
	switch c := command.(type) {
	case *instructions.ArgCommand:
		for _, arg := range c.Args {
			if value, ok := arguments[arg.Key]; ok {
				known[arg.Key] = value
			} else {
				known[arg.Key] = arg.ValueString()
			}
		}
	case *instructions.LabelCommand:
		for _, label := range c.Labels {
			r.labels[label.Key] = label.Value
		}
	case *instructions.UserCommand:
		r.user = c.User
	case *instructions.EntrypointCommand:
		if c.PrependShell {
			return fmt.Errorf("there is no shell in the image")
		}
		r.entrypoint = c.CmdLine
	case *instructions.CopyCommand:
		return r.copy(c, context)
	default:
		return fmt.Errorf("this instruction is not known here")
	}
	return nil
}

func expander(known map[string]string) instructions.SingleWordExpander {
	lex := shell.NewLex('\\')
	return func(word string) (string, error) {
		env := make([]string, 0, len(known))
		for _, name := range slices.Sorted(maps.Keys(known)) {
			env = append(env, name+"="+known[name])
		}
		text, unmatched, err := lex.ProcessWord(word, shell.EnvsFromSlice(env))
		if err == nil && len(unmatched) > 0 {
			err = fmt.Errorf("%s: no ARG is called %v", word, slices.Sorted(maps.Keys(unmatched)))
		}
		return text, err
	}
}

func (r *recipe) copy(c *instructions.CopyCommand, context string) error {
	if c.Chown != "" || c.Chmod != "" || c.Parents || len(c.ExcludePatterns) > 0 || len(c.SourceContents) > 0 ||
		len(c.SourcePaths) != 1 {
		return fmt.Errorf("only COPY [--from=STAGE] SOURCE TARGET is known here")
	}
	target := strings.TrimPrefix(path.Clean(c.DestPath), "/")
	if c.From != "" {
		source := c.SourcePaths[0]
		if strings.HasPrefix(source, builtPrograms) {
			r.files[target] = origin{program: source}
			return nil
		}
		file, ok := r.staged[source]
		if !ok {
			return fmt.Errorf("no -staged %s=FILE stands for what stage %s writes there", source, c.From)
		}
		r.files[target] = origin{file: file}
		return nil
	}
	root := filepath.Join(context, filepath.FromSlash(c.SourcePaths[0]))
	info, err := os.Stat(root)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		r.files[target] = origin{file: root}
		return nil
	}
	return filepath.WalkDir(root, func(file string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, file)
		r.files[path.Join(target, filepath.ToSlash(name))] = origin{file: file}
		return err
	})
}
