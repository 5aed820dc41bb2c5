package page

import _ "embed" // the files of the page that other documents use, too

//go:embed assets/page.css
var style string

//go:embed assets/icon.svg
var icon string

// Style returns the style sheet of the page, for other documents in the same style.
func Style() string { return style }

// Icon returns the icon of the program, an SVG element.
func Icon() string { return icon }
