package docs

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// split returns the commands of a block: a line each, or several where bash reports an incomplete command.
func split(line int, lines []string) ([]command, error) {
	var list []command
	text, begin := "", line
	for i, l := range lines {
		if text == "" {
			begin = line + i
		}
		text += l + "\n"
		trimmed := strings.TrimSpace(l)
		switch {
		case strings.TrimSpace(text) == "", trimmed == strings.TrimSpace(text) && strings.HasPrefix(trimmed, "#"):
			text = "" // a blank line, or a comment of its own
			continue
		case strings.HasSuffix(l, "\\"):
			continue
		}
		whole, err := complete(text)
		if err != nil {
			return nil, err
		}
		if whole {
			list = append(list, command{line: begin, text: strings.TrimSuffix(text, "\n")})
			text = ""
		}
	}
	if text != "" {
		return nil, fmt.Errorf("%d: bash does not find the end of this command", begin)
	}
	return list, nil
}

// splitConsole returns the commands of a console block, which begin with "$ " and continue with "> ", and their
// output.
func splitConsole(line int, lines []string) ([]command, error) {
	var list []command
	for i, l := range lines {
		if typed, ok := strings.CutPrefix(l, "$ "); ok {
			list = append(list,
				command{line: line + i, text: typed, output: &fence{language: "console", line: line + i + 1}})
			continue
		}
		last := &list[len(list)-1]
		if more, ok := strings.CutPrefix(l, "> "); ok && len(last.output.lines) == 0 {
			last.text += "\n" + more
			last.output.line++
			continue
		}
		last.output.lines = append(last.output.lines, l)
	}
	for _, c := range list {
		if whole, err := complete(c.text + "\n"); err != nil || !whole {
			return nil, fmt.Errorf("%d: bash does not find the end of this command (%w)", c.line, err)
		}
	}
	return list, nil
}

// complete reports whether bash takes a text for whole commands.
func complete(text string) (bool, error) {
	cmd := exec.CommandContext(context.Background(), "bash", "-n")
	cmd.Stdin = strings.NewReader(text)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	err := cmd.Run()
	if err != nil && cmd.ProcessState == nil {
		return false, fmt.Errorf("run bash: %w", err)
	}
	// A here-document without its end is only warned of.
	return err == nil && complaints.Len() == 0, nil
}
