package drift

import (
	"strconv"
)

// This file is about list elements that a mutating webhook injects, in scope Strict: undeclared elements of lists
// merged by key without a foreign author, such as a container or a variable. The API server records no owner of an
// injected value, so a foreign owner of any part of it is the trace of a change. A removed field leaves no trace, so
// the content of each element is learnt, too. The value before the change is unknown: the element has to be removed as
// a whole, for the webhook to inject it again. Only a dry run shows that the webhook does so. See Options.Accepted, and
// judge.Input.AfterDryRun.

// injected returns the key in a Baseline of the undeclared element e of the list at the current path, and its index in
// the live list; negative for an element that was not injected.
func (s *stripper) injected(p pair[[]any], e any, n *node) (key string, j int) {
	element, isMap := e.(map[string]any)
	// Of several elements with one key it is not known which one is meant. A declared list with two elements of one key
	// is compared and learnt as a whole.
	if !isMap || n == nil || n.list != keyedList || count(p.have, element, n) != 1 || count(p.live, element, n) != 1 ||
		s.c.kindOf(p.want, n) != keyedList {
		return "", -1
	}
	j = n.indexOf(p.live, e)
	s.c.push(strconv.Itoa(j))
	defer s.c.pop()
	if s.c.ignored() || s.stays(p.live[j]) {
		return "", -1
	}
	text, _ := keyText(element, n.keys)
	return Pointer(s.c.path[:len(s.c.path)-1]...) + "/" + injectedMark + hexOf(text), j
}
