package release_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// metadata returns Helm's metadata for revision 12 of apps/my.app, after edit.
func metadata(edit func(*metav1.PartialObjectMetadata)) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "apps", Name: "sh.helm.release.v1.my.app.v12", UID: "u1", ResourceVersion: "700",
		CreationTimestamp: metav1.Unix(1000, 0),
		Labels: map[string]string{
			"owner": "helm", "name": "my.app", "version": "12", "status": "deployed", "createdAt": "1001",
			"modifiedAt": "1005",
		},
	}}
	if edit != nil {
		edit(m)
	}
	return m
}

func TestRecordOfReadsWhatHelmWrites(t *testing.T) {
	rec, err := release.Secrets.RecordOf(metadata(nil))
	check.NoError(t, err)
	want := release.Record{
		Key: release.Key{Namespace: "apps", Name: "my.app"}, ObjectName: "sh.helm.release.v1.my.app.v12",
		UID: "u1", ResourceVersion: "700", Revision: 12, Status: release.StatusDeployed,
		Stored: time.Unix(1000, 0).UTC(), Created: time.Unix(1001, 0).UTC(), Modified: time.Unix(1005, 0).UTC(),
	}
	check.That(t, rec == want, "got %+v\nwant %+v", rec, want)
	check.Equal(t, rec.Key.String(), "apps/my.app", "key is %s", rec.Key)
}

func TestRecordOfAcceptsRecordsOfTrueHelm(t *testing.T) {
	secrets, storage := helmStorage(t)
	rel := helmRelease(nil)
	check.NoError(t, storage.Create(rel))
	selector, err := release.Selector("podinfo")
	check.NoError(t, err)
	for _, status := range []helmrelease.Status{helmrelease.StatusDeployed, helmrelease.StatusSuperseded} {
		rel.Info.Status = status
		check.NoError(t, storage.Update(rel))
		list, err := secrets.List(context.Background(), metav1.ListOptions{LabelSelector: selector})
		check.Must(t, err == nil && len(list.Items) == 1, "list by selector: %d items, %v", len(list.Items), err)
		secret := list.Items[0]
		rec, err := release.Secrets.RecordOf(&secret)
		check.NoError(t, err)
		check.That(t, string(rec.Status) == string(status) && rec.Revision == 3 && !rec.Modified.IsZero(), "got %+v",
			rec)
		check.That(t, string(secret.Type) == release.SecretType && secret.Name == release.ObjectName("podinfo", 3),
			"type %s, name %s", secret.Type, secret.Name)
	}
}

func TestRecordOfRejectsMetadataThatHelmDoesNotWrite(t *testing.T) {
	set := func(label, value string) func(*metav1.PartialObjectMetadata) {
		return func(m *metav1.PartialObjectMetadata) { m.Labels[label] = value }
	}
	remove := func(label string) func(*metav1.PartialObjectMetadata) {
		return func(m *metav1.PartialObjectMetadata) { delete(m.Labels, label) }
	}
	rename := func(name string) func(*metav1.PartialObjectMetadata) {
		return func(m *metav1.PartialObjectMetadata) { m.Name = name }
	}
	for name, test := range map[string]struct {
		edit func(*metav1.PartialObjectMetadata)
		want string
	}{
		"the owner label is missing":            {remove("owner"), `"owner" is missing`},
		"the owner is somebody else":            {set("owner", "tiller"), `"owner" is "tiller"`},
		"the name label is missing":             {remove("name"), `"name" is missing`},
		"the name label names another release":  {set("name", "other"), `it must be "my.app"`},
		"the version label is missing":          {remove("version"), `"version" is missing`},
		"the version label is another revision": {set("version", "13"), `it must be "12"`},
		"the version label is not a number":     {set("version", "twelve"), `it must be "12"`},
		"the version label has a leading zero":  {set("version", "012"), `it must be "12"`},
		"the status label is missing":           {remove("status"), `"status" is missing`},
		"the status label is empty":             {set("status", ""), `"status" is missing`},
		"createdAt is not a time":               {set("createdAt", "yesterday"), `"createdAt" is "yesterday"`},
		"modifiedAt is negative":                {set("modifiedAt", "-1"), `"modifiedAt" is "-1"`},
		"there are no labels": {func(m *metav1.PartialObjectMetadata) { m.Labels = nil },
			`"owner" is missing`},
		"the Secret's name has no prefix":       {rename("my.app.v12"), "not of the form"},
		"the Secret's name has no revision":     {rename("sh.helm.release.v1.my.app"), "not of the form"},
		"the Secret's name has revision zero":   {rename("sh.helm.release.v1.my.app.v0"), "not of the form"},
		"the Secret's name has a signed number": {rename("sh.helm.release.v1.my.app.v+12"), "not of the form"},
		"the Secret's name has no release name": {rename("sh.helm.release.v1..v12"), "not of the form"},
		"the Secret's revision is beyond an int": {rename("sh.helm.release.v1.my.app.v99999999999999999999"),
			"not of the form"},
	} {
		t.Run(name, func(t *testing.T) {
			rec, err := release.Secrets.RecordOf(metadata(test.edit))
			check.Must(t, errors.Is(err, release.ErrRecord) && strings.Contains(err.Error(), test.want),
				"got %v, want an ErrRecord with %q", err, test.want)
			check.That(t, strings.Contains(err.Error(), "Secret apps/") && strings.Contains(err.Error(), "deploy it again"),
				"the error does not say where and what to do: %v", err)
			check.That(t, rec.Key.Namespace == "apps" && rec.UID == "u1" && rec.ResourceVersion == "700",
				"the record does not tell the Secret: %+v", rec)
			if !strings.Contains(err.Error(), "not of the form") && rec.Key.Name != "my.app" {
				t.Errorf("the record does not tell the release: %+v", rec)
			}
		})
	}
}

func TestRecordTimesFallBackToTheSecretsCreation(t *testing.T) {
	rec, err := release.Secrets.RecordOf(metadata(func(m *metav1.PartialObjectMetadata) {
		delete(m.Labels, "createdAt")
		delete(m.Labels, "modifiedAt")
	}))
	check.That(t, err == nil && rec.Created.Unix() == 1000 && rec.Modified.Unix() == 1000, "got %+v, %v", rec, err)
	unmodified := metadata(func(m *metav1.PartialObjectMetadata) { delete(m.Labels, "modifiedAt") })
	rec, err = release.Secrets.RecordOf(unmodified)
	check.That(t, err == nil && rec.Created.Unix() == 1001 && rec.Modified.Unix() == 1001, "got %+v, %v", rec, err)
}

// Seen with Helm 3.22 and 4.3: the pending record of an upgrade carries modifiedAt of the revision before it.
func TestALabelFromTheRevisionBeforeDoesNotAgeARecord(t *testing.T) {
	rec, err := release.Secrets.RecordOf(metadata(func(m *metav1.PartialObjectMetadata) {
		m.Labels["createdAt"], m.Labels["modifiedAt"] = "10", "20"
	}))
	check.That(t, err == nil && rec.Created.Unix() == 1000 && rec.Modified.Unix() == 1000,
		"created %v, modified %v, %v", rec.Created, rec.Modified, err)
}

func TestAStatusOfANewerHelmIsUnknownAndUnlocked(t *testing.T) {
	rec, err := release.Secrets.RecordOf(
		metadata(func(m *metav1.PartialObjectMetadata) { m.Labels["status"] = "pending-migration" }),
	)
	check.That(t, err == nil && rec.Status == release.StatusUnknown, "got %+v, %v", rec, err)
}

func TestNewestIsTheHighestRevisionInAnyOrder(t *testing.T) {
	_, ok := release.Newest(nil)
	check.That(t, !ok, "there is a newest of none")
	at := func(revision int, created int64, uid string) release.Record {
		return release.Record{Revision: revision, Created: time.Unix(created, 0), UID: types.UID(uid)}
	}
	for name, records := range map[string][]release.Record{
		"numbers are not compared as text":         {at(10, 5, "want"), at(9, 6, "no"), at(2, 7, "no")},
		"of one revision, the younger wins":        {at(1, 5, "no"), at(1, 9, "want")},
		"of one revision and age, the uid decides": {at(1, 5, "a"), at(1, 5, "want")},
		"a single record":                          {at(1, 5, "want")},
	} {
		t.Run(name, func(t *testing.T) {
			for range records {
				records = append(records[1:], records[0])
				got, ok := release.Newest(records)
				check.That(t, ok && got.UID == "want", "of %v got %+v", records, got)
			}
		})
	}
}

func TestSameComparesIdentityAndNotTheRevision(t *testing.T) {
	rec := func(uid, version string) release.Record {
		return release.Record{Revision: 1, UID: types.UID(uid), ResourceVersion: version}
	}
	for name, test := range map[string]struct {
		a, b release.Record
		want bool
	}{
		"the same Secret, unchanged":            {rec("u", "5"), rec("u", "5"), true},
		"the same Secret, updated":              {rec("u", "5"), rec("u", "6"), false},
		"a re-install with the same revision":   {rec("u", "5"), rec("v", "9"), false},
		"another Secret at the same version":    {rec("u", "5"), rec("v", "5"), false},
		"two records that were never stored":    {rec("", ""), rec("", ""), false},
		"two records without a resourceVersion": {rec("u", ""), rec("u", ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			check.That(t, test.a.Same(test.b) == test.want && test.b.Same(test.a) == test.want, "want %v", test.want)
		})
	}
}

func TestStatusesThatHelmWritesAreKnown(t *testing.T) {
	for status, transitioning := range map[helmrelease.Status]bool{
		helmrelease.StatusUnknown: false, helmrelease.StatusDeployed: false, helmrelease.StatusUninstalled: false,
		helmrelease.StatusSuperseded: false, helmrelease.StatusFailed: false, helmrelease.StatusUninstalling: true,
		helmrelease.StatusPendingInstall: true, helmrelease.StatusPendingUpgrade: true,
		helmrelease.StatusPendingRollback: true,
		"brand-new":                       false,
	} {
		check.That(t, release.Known(status) == (status != "brand-new") && release.Transitioning(status) == transitioning,
			"%s: known %v, transitioning %v", status, release.Known(status), release.Transitioning(status))
	}
}

func parsedSelector(t *testing.T, name string) labels.Selector {
	t.Helper()
	text, err := release.Selector(name)
	check.NoError(t, err)
	selector, err := labels.Parse(text)
	check.NoError(t, err)
	return selector
}

func TestSelectorSelectsOneReleaseOrAll(t *testing.T) {
	one, all := parsedSelector(t, "podinfo"), parsedSelector(t, "")
	podinfo := labels.Set{"owner": "helm", "name": "podinfo"}
	other := labels.Set{"owner": "helm", "name": "other"}
	check.That(t,
		one.Matches(podinfo) && !one.Matches(other) && all.Matches(other) && !all.Matches(labels.Set{"name": "other"}),
		"selectors %s and %s", one, all)
}

func TestDecodeRecordNeedsAPayload(t *testing.T) {
	for _, payload := range [][]byte{nil, {}} {
		_, err := release.DecodeRecord(payload, nil)
		check.That(t,
			errors.Is(err, release.ErrNoPayload) &&
				strings.Contains(err.Error(), `data key "release" is missing or empty`),
			"got %v", err)
	}
	_, err := release.DecodeRecord(pack(minimal), nil)
	check.Report(t, err)
}

func TestMatchesNamesWhatDiffers(t *testing.T) {
	rel, err := release.Decode(pack(minimal), release.DefaultLimit, nil)
	check.NoError(t, err)
	own := release.Record{Key: rel.Key, ObjectName: "sh.helm.release.v1.podinfo.v3", Revision: 3,
		Status: release.StatusDeployed}
	check.Report(t, rel.Matches(own))
	for field, edit := range map[string]func(*release.Record){
		"name":     func(r *release.Record) { r.Key.Name = "other" },
		"revision": func(r *release.Record) { r.Revision = 4 },
		"status":   func(r *release.Record) { r.Status = release.StatusFailed },
	} {
		rec := own
		edit(&rec)
		err := rel.Matches(rec)
		check.That(t, errors.Is(err, release.ErrMismatch) && strings.Contains(err.Error(), ": "+field+" is "),
			"%s: got %v", field, err)
	}
	elsewhere := own
	elsewhere.Key.Namespace = "flux-system"
	check.Report(t, rel.Matches(elsewhere))
	for _, namespace := range []string{"..", "a/b", "A", strings.Repeat("a", 64)} {
		odd := *rel
		odd.Namespace = namespace
		err := odd.Matches(own)
		check.That(t, errors.Is(err, release.ErrMismatch), "namespace %q: got %v", namespace, err)
	}
	rel.Name = strings.Repeat(leak, 1000)
	err = rel.Matches(own)
	check.That(t, len(err.Error()) <= 500, "an error of %d bytes", len(err.Error()))
}
