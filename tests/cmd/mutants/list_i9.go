package main

// allOrNothing are the mutants of I9.
func allOrNothing() []mutant {
	const parse, test = "pkg/manifest/parse.go", "TestI9_ManifestThatDoesNotParseIsNotEnforcedAtAll"
	return []mutant{
		{
			promise: "I9", what: "a manifest that does not parse is reported, and what was locked before stays locked",
			edit: stayLocked, pkg: integration, run: test,
		},
		{
			promise: "I9", what: "a document that is no YAML is skipped",
			edit: edit{parse, `		content, rest, err := decoder.decode(doc)
		if err != nil {
			return nil, err`, `		content, rest, err := decoder.decode(doc)
		if err != nil {
			continue`}, pkg: integration, run: test,
		},
		{
			promise: "I9", what: "what comes before a bad document is enforced",
			edit: edit{parse, `			if err := p.add(object, inherited{}, 0); err != nil {
				return nil, err`, `			if err := p.add(object, inherited{}, 0); err != nil {
				break`}, pkg: integration, run: test,
		},
		{
			promise: "I9", what: "a document that is no mapping is skipped",
			edit: edit{parse, `				return nil, doc.errorf(doc.firstLine(), "it is not an object: a mapping is needed at the top")`,
				`				continue`},
			pkg: integration, run: test,
		},
		{
			promise: "I9", what: "an object without a kind is skipped",
			edit: edit{parse, `		return p.errorf("an object has no kind")`, `		return nil`},
			pkg:  integration, run: test,
		},
		{
			promise: "I9", what: "an object without a name is skipped",
			edit: edit{parse, `			return p.errorf("an object has no metadata.name")`,
				`			return nil`}, pkg: integration, run: test,
		},
		{
			promise: "I9", what: "a manifest that does not parse counts as an empty one",
			edit: edit{"pkg/judge/plan.go", `	set, err := manifest.Parse(text)
	if err != nil {`, `	set, err := manifest.Parse(text)
	if err != nil {
		set, err = &manifest.Set{}, nil
	}
	if err != nil {`}, pkg: integration, run: test,
		},
	}
}

// badInput are the mutants of I10.
func badInput() []mutant {
	const load, reconcile = "pkg/controller/records.go", "pkg/controller/releases.go"
	const records, newer = "TestI10_BadRecordsEndInAConditionAndOthersGoOn", "TestI10_UnreadableNewerRecordUnlocks"
	const kind = "TestI10_MissingKindIsWaitedFor"
	const failed = `	if err != nil {
		return problem{v1alpha1.ReasonDecodeFailed,`
	return []mutant{
		{
			promise: "I10", what: "a payload that does not decode is a panic", crashes: true,
			edit: edit{load, failed, `	if err != nil {
		panic(err)
	}
` + failed}, pkg: integration, run: records,
		},
		{
			promise: "I10", what: "a payload that does not decode counts as an empty release",
			edit: edit{load, `	if err == nil {
		err = rel.Matches(rec)
	}`, `	if err == nil {
		err = rel.Matches(rec)
	} else {
		rel, err = &release.Release{}, nil
	}`}, pkg: integration, run: records,
		},
		{
			promise: "I10", what: "a payload that does not decode stalls the other releases",
			edit: edit{load, failed, `	if err != nil {
		<-ctx.Done()
	}
` + failed}, pkg: integration, run: records,
		},
		{
			promise: "I10", what: "a payload that does not decode is tried again and again without a word",
			edit: edit{load, failed, `	if err != nil {
		return problem{}, err
	}
` + failed}, pkg: integration, run: records,
		},
		{
			promise: "I10", what: "a payload may decompress to any size",
			edit: edit{"pkg/release/decode.go", `left: limit, large: large}`, `left: limit << 20, large: large}`},
			pkg:  releases, run: "TestPayloadsThatExhaustMemory",
		},
		{
			promise: "I10", what: "one value of a payload may have any size",
			edit: edit{"pkg/release/decode.go", `	case b.read > b.until:`, `	case b.read < 0:`},
			pkg:  releases, run: "TestPayloadsThatExhaustMemory",
		},
		{
			promise: "I10", what: "the commands and the page decode any number of values and hooks",
			edit: edit{"pkg/release/details.go", `	case elements > maxElements:`, `	case elements < 0:`},
			pkg:  releases, run: "TestPayloadsThatExhaustMemory",
		},
		{
			promise: "I10", what: "a payload of another release is taken",
			edit: edit{load, `		err = rel.Matches(rec)`, `		_ = rel.Matches(rec)`}, pkg: integration,
			run: records,
		},
		{
			promise: "I10", what: "that a record has changed goes unnoticed, so that a repaired one is not read again",
			edit: edit{"pkg/watch/releases.go", `	r.notify(r.put(m))`, `	if keys := r.put(m); len(keys) == 1 {
		r.notify(keys)
	}`}, pkg: integration, run: records,
		},
		{
			promise: "I10", what: "a newer record that cannot be read is overlooked",
			edit: edit{reconcile, `			return m.Err`, `			continue`}, pkg: integration, run: newer,
		},
		{
			promise: "I10", what: "a newer record that cannot be read counts only if it says which revision it is",
			edit: edit{"pkg/watch/releases.go", `Malformed{Revision: rec.Revision, Err: rec.err}`,
				`Malformed{Revision: -1, Err: rec.err}`},
			pkg: integration, run: newer,
		},
		{
			promise: "I10", what: "a kind that is not served keeps the whole release from being locked",
			edit: edit{"pkg/manifest/resolve.go", `			unknown = append(unknown, object)
			continue`, `			return nil, s.Objects, nil`}, pkg: integration, run: kind,
		},
		{
			promise: "I10", what: "a kind that was not served is not asked for again",
			edit: edit{"pkg/controller/kinds.go", `			return true
		}
	}`, `			return false
		}
	}`}, pkg: integration, run: kind,
		},
		{
			promise: "I10", what: "a kind that is served no more is not waited for",
			edit: edit{"pkg/controller/act.go", `func(e *entry) { e.reload = e.reload || !rm.served(v) })`,
				`func(e *entry) { e.reload = e.reload && !rm.served(v) })`},
			pkg: integration, run: kind,
		},
	}
}

// costFollowsLocks are the mutants of I11.
func costFollowsLocks() []mutant {
	const objects, test = "pkg/watch/objects.go", "TestI11_OnlyWhatIsLockedIsWatched"
	return []mutant{
		{
			promise: "I11", what: "all objects of a kind are watched, Helm's or not",
			edit: edit{objects, `			opts.LabelSelector = HelmSelector
			return o.client.Watch(ctx, kind.GVR, opts)`, `			return o.client.Watch(ctx, kind.GVR, opts)`},
			pkg: integration, run: test,
		},
		{
			promise: "I11", what: "the watch of a kind goes on when no release needs it any more",
			edit: edit{objects, `	w.users--
	if w.users == 0 {`, `	w.users--
	if w.users < 0 {`}, pkg: integration, run: test,
		},
		{
			promise: "I11", what: "all Secrets are watched for release records",
			edit: edit{"pkg/watch/releases.go", `		o.FieldSelector = fields.OneTermEqualSelector("type", release.SecretType).String()`,
				`		o.FieldSelector, o.LabelSelector = fields.Everything().String(), ""`},
			pkg: integration, run: test,
		},
		{
			promise: "I11", what: "a change of status is judged as if it were content",
			edit: edit{"pkg/drift/digest.go", `	case string(name) == "status", `, `	case `}, pkg: drift,
			run: "TestDigestChangesWithContentOnly",
		},
		{
			promise: "I11", what: "a list is kept in memory until all of it has come",
			edit: edit{"pkg/watch/feed.go", `		return f.deliver(o), nil`, `		f.deliver(o)
		return o, nil`},
			pkg: watch, run: "TestAStreamedListIsJudgedObjectByObjectAndOnlyNamesAreKept",
		},
	}
}
