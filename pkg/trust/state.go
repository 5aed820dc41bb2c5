package trust

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/plain"
)

// maxEarlier bounds the digests of earlier revisions: Helm keeps ten records of a release by default.
const maxEarlier = 10

// maxGroups bounds the groups of a writer, and maxName the bytes of a name: no name in a spec is longer.
const maxGroups, maxName = 64, 1024

// Record identifies a stored record and its content.
type Record struct {
	UID      types.UID `json:"uid"`
	Revision int       `json:"revision"`
	Digest   string    `json:"digest"`
	// Replace is set if the writer may also have objects deleted and created again.
	Replace bool `json:"replace,omitempty"`
	// Reason, Writer and Time describe the decision. Older states lack them.
	Reason v1alpha1.TrustReason `json:"reason,omitempty"`
	Writer string               `json:"writer,omitempty"`
	Time   *metav1.Time         `json:"time,omitempty"`
}

func (r *Record) is(o Record) bool {
	return r != nil && r.UID == o.UID && r.Digest == o.Digest && (r.Replace || !o.Replace)
}

// Refusal is a witnessed write of a record that is not trusted by its writer.
type Refusal struct {
	Record
	// Missing is a right that the writer lacks; nil for a writer whose records are never trusted.
	Missing *Right `json:"missing,omitempty"`
}

// Writer is the user who stored a deployed record.
type Writer struct {
	Record
	judge.Requester
	// MoreGroups is set if the user is in other groups, too.
	MoreGroups bool `json:"moreGroups,omitempty"`
}

// Pending is a pending record and the user who created it.
type Pending struct {
	UID    types.UID `json:"uid"`
	Writer string    `json:"writer"`
}

// State is the knowledge about the records of one HelmRelease. The zero value trusts none.
type State struct {
	// Trusted is the newest trusted deployed revision, and Next a trusted one that Helm deploys.
	Trusted *Record `json:"trusted,omitempty"`
	Next    *Record `json:"next,omitempty"`
	// Refused is the last refusal.
	Refused *Refusal `json:"refused,omitempty"`
	// Earlier are the digests of earlier trusted deployed revisions, oldest first.
	Earlier []string `json:"earlier,omitempty"`
	// Witnessed is the last of the revisions after the trusted one whose creations were witnessed, and not refused,
	// without a gap.
	Witnessed int `json:"witnessed,omitempty"`
	// Pending is the last record that Helm has begun with, until it is deployed or ended.
	Pending *Pending `json:"pending,omitempty"`
	// AtWork is the user whose Helm may change objects though no record shows it, because the user uninstalls the
	// release or another one ended or changed a pending record; empty for none. Until this user deletes a record or
	// deploys one, or a record is accepted, objects that are as declared are no reason for trust. The key in JSON is
	// that of older states, which knew uninstallations alone.
	AtWork string `json:"uninstaller,omitempty"`
	// Writer is that of the last deployed record, and outlives the trust.
	Writer *Writer `json:"writer,omitempty"`
	// Changes counts the changes of the state.
	Changes int64 `json:"changes,omitempty"`
}

// Trusts reports whether a deployed record may be enforced.
func (s *State) Trusts(r Record) bool { return s.Trusted.is(r) }

// Knows reports whether a record in any status is trusted.
func (s *State) Knows(r Record) bool { return s.Trusted.is(r) || s.Next.is(r) }

// Trust records a trusted deployed revision. An older one does not count from then on.
func (s *State) Trust(r Record) {
	if s.Trusted != nil && s.Trusted.Digest != r.Digest {
		s.Earlier = append(slices.DeleteFunc(s.Earlier, func(d string) bool { return d == s.Trusted.Digest }),
			s.Trusted.Digest)
		s.Earlier = s.Earlier[max(0, len(s.Earlier)-maxEarlier):]
	}
	if s.Next != nil && s.Next.Revision <= r.Revision {
		s.Next = nil
	}
	s.Trusted, s.Witnessed = &r, 0
	s.deployed(r.UID)
	if r.Reason == v1alpha1.TrustAccepted {
		s.AtWork = ""
	}
}

// Start is Trust for a revision that was compared with nothing. The right to delete the objects of earlier revisions
// was not asked for, so none of these counts from then on.
func (s *State) Start(r Record) {
	s.Trusted, s.Earlier = nil, nil
	s.Trust(r)
}

// Refuse records a refusal. A trusted record that is stored again by a user without the rights is not trusted.
func (s *State) Refuse(r Refusal) {
	r.Reason = v1alpha1.TrustRefused
	s.Refused = &r
	if s.Trusts(r.Record) {
		s.Trusted = nil
	}
}

// Witness records that the creation of a revision was witnessed, by a user with the rights.
func (s *State) Witness(revision int) {
	if s.Follows(revision, true) {
		s.Witnessed = revision
	}
}

// Follows reports whether a revision that is stored follows on the trusted one: between them is none whose creation was
// not witnessed, and that may have been deployed.
func (s *State) Follows(revision int, created bool) bool {
	last := s.Witnessed
	if s.Trusted != nil {
		last = max(last, s.Trusted.Revision)
	}
	return revision <= last || created && revision == last+1
}

// WasDeployed reports whether the content of an earlier revision was trusted when it was deployed.
func (s *State) WasDeployed(digest string) bool {
	return s.Trusted != nil && s.Trusted.Digest == digest || slices.Contains(s.Earlier, digest)
}

// Forget ends the trust if a user deletes the trusted revision or a later one: what becomes the newest record then is
// not what Helm deployed last. It reports whether to store the state, so that it is newer than what others have read.
func (s *State) Forget(revision int, by string) bool {
	if s.Trusted != nil && revision < s.Trusted.Revision {
		return false
	}
	if s.AtWork == by {
		s.AtWork = ""
	}
	s.end()
	return true
}

// Uninstall ends the trust: Helm may be about to delete objects that are as declared.
func (s *State) Uninstall(by string) {
	s.leave(by)
	s.end()
}

// end ends the trust in all records.
func (s *State) end() {
	*s = State{Refused: s.Refused, Pending: s.Pending, AtWork: s.AtWork, Writer: s.Writer, Changes: s.Changes}
}

// Begin records that the Helm of a user begins with a pending record. That of another user has not ended then.
func (s *State) Begin(uid types.UID, by string) {
	if s.Pending != nil && s.Pending.Writer != by {
		s.leave(s.Pending.Writer)
	}
	s.Pending = &Pending{UID: uid, Writer: by}
}

// TakeOver records that a user changes a pending record. The Helm of another user may go on with the record as it was.
// It reports whether the state has changed.
func (s *State) TakeOver(uid types.UID, by string) bool {
	if s.Pending == nil || s.Pending.UID != uid || s.Pending.Writer == by {
		return false
	}
	s.leave(s.Pending.Writer)
	s.Pending = nil
	return true
}

// Interrupt records that a pending record ended without deployment. Unless its writer ended it, Helm may go on with it.
// It reports whether the state has changed.
func (s *State) Interrupt(uid types.UID, revision int, by string) bool {
	if s.Trusted != nil && revision < s.Trusted.Revision {
		return false
	}
	if s.Pending == nil || s.Pending.UID != uid {
		s.leave(severalUsers)
	} else if !s.TakeOver(uid, by) {
		s.Pending = nil
	}
	return true
}

// severalUsers is the AtWork of several users, or of an unknown one. It is no name of a user.
const severalUsers = "\n"

// deployed records that a record is no longer pending.
func (s *State) deployed(uid types.UID) {
	if s.Pending != nil && s.Pending.UID == uid {
		s.Pending = nil
	}
}

// leave records that the Helm of a user may be at work.
func (s *State) leave(user string) {
	if s.AtWork != "" && s.AtWork != user {
		user = severalUsers
	}
	s.AtWork = user
}

// Status returns the trust in a deployed record.
func (s *State) Status(r Record) *v1alpha1.TrustStatus {
	status := &v1alpha1.TrustStatus{State: v1alpha1.TrustStateNotTrusted, Revision: r.Revision,
		Reason: v1alpha1.TrustUnwitnessed}
	known := s.Trusted
	switch {
	case s.Trusts(r):
		status.State = v1alpha1.TrustStateTrusted
	case s.Refused != nil && s.Refused.is(r):
		known, status.Message = &s.Refused.Record, s.Refused.text()
	case s.AtWork != "":
		status.Message = fmt.Sprintf("nothing shows that the writer of revision %d may deploy it, and an upgrade or "+
			"uninstallation of another user may not have ended", r.Revision)
		return status
	default:
		status.Message = fmt.Sprintf("nothing shows that the writer of revision %d may deploy it, and its objects are "+
			"not as it declares", r.Revision)
		return status
	}
	status.Reason, status.Writer, status.Time = known.Reason, known.Writer, known.Time
	return status
}

// text returns why a record is not trusted, without a full stop. The remedy follows it.
func (r *Refusal) text() string {
	if r.Missing == nil {
		return fmt.Sprintf("revision %d was stored by user %s, whose records trust.neverWriters excludes", r.Revision,
			r.Writer)
	}
	// The message of a condition has room for the remedy, too.
	return plain.Cut(fmt.Sprintf("revision %d was stored by user %s, who may not %s", r.Revision, r.Writer, r.Missing),
		v1alpha1.MaxConditionMessageBytes/2)
}

// Deployed records the user who stored a deployed record, and whose Helm is done by that. Of many groups it keeps the
// expected ones.
func (s *State) Deployed(r Record, by judge.Requester, expected []v1alpha1.GuardSubject) {
	if s.AtWork == r.Writer {
		s.AtWork = ""
	}
	s.deployed(r.UID)
	s.Writer = &Writer{Record: r, Requester: judge.Requester{User: plain.Cut(by.User, maxName)},
		MoreGroups: len(by.Groups) > maxGroups}
	for _, named := range []bool{true, false} {
		for _, group := range by.Groups {
			in := judge.Requester{Groups: []string{group}}
			if in.IsOneOf(expected) == named && len(s.Writer.Groups) < maxGroups {
				s.Writer.Groups = append(s.Writer.Groups, plain.Cut(group, maxName))
			}
		}
	}
}

// Expected compares the last writer with the expected ones, for the condition of a lock of a record; zero without one.
// A writer is unexpected until an expected one deploys, not only while the record is the newest.
func (s *State) Expected(r Record, accepted bool, by []v1alpha1.GuardSubject) metav1.Condition {
	w, group := s.Writer, func(s v1alpha1.GuardSubject) bool { return s.Kind == v1alpha1.GuardSubjectGroup }
	c := metav1.Condition{Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonWriterUnknown,
		Message: "the operator did not see the user who stored the locked revision, or not all groups of the user"}
	switch {
	case accepted:
		c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonExpectedWriter
		c.Message = fmt.Sprintf("revision %d is accepted", r.Revision)
	case w != nil && w.is(r) && w.IsOneOf(by):
		c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonExpectedWriter
		c.Message = fmt.Sprintf("revision %d was stored by user %s", r.Revision, w.Writer)
	case w != nil && !w.IsOneOf(by) && !(w.MoreGroups && slices.ContainsFunc(by, group)):
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonUnexpectedWriter
		c.Message = fmt.Sprintf("revision %d was stored by user %s, who is not one of spec.expectedWriters",
			w.Revision, w.Writer)
	}
	return c
}
