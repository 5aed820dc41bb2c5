package report

// Style colours text for a terminal. The zero value leaves it plain.
type Style struct{ Color bool }

func (s Style) paint(code, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold returns a neutral text in bold.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Dim returns a neutral text, less bright.
func (s Style) Dim(text string) string { return s.paint("2", text) }

// Red returns a neutral text in red.
func (s Style) Red(text string) string { return s.paint("31", text) }

// Green returns a neutral text in green.
func (s Style) Green(text string) string { return s.paint("32", text) }

// Yellow returns a neutral text in yellow.
func (s Style) Yellow(text string) string { return s.paint("33", text) }

// Cyan returns a neutral text in cyan.
func (s Style) Cyan(text string) string { return s.paint("36", text) }
