/*
 * Trust in the records of one release (I14): Helm in the name of a user with the rights for the object, a forger who may write,
 * relabel and delete records but not the object, the webhook that judges the writes of both, and one or two operators. The
 * operator must never give the object a content that the user did not deploy last. README.md lists what is modelled and what is
 * not; variants.go lists the runs.
 */

#ifndef OPS
#define OPS 1     /* operations of Helm after the installation */
#endif
#ifndef FORGED
#define FORGED 1  /* requests of the forger */
#endif
#ifndef DOWNS
#define DOWNS 0   /* requests without an answer */
#endif
#ifndef LATES
#define LATES 0   /* requests whose answer comes after the API server has stopped to wait for it */
#endif
#ifndef REFUSALS
#define REFUSALS 0 /* requests that are refused after the answer, by another webhook or a conflict */
#endif
#ifndef TAMPERS
#define TAMPERS 0 /* changes of the object by others */
#endif
#ifndef LEADERS
#define LEADERS 1 /* operators that enforce; the second one does not know that it has lost the lead */
#endif
#ifndef REVISIONS
#define REVISIONS 3
#endif

/* Contents: of a record and of the object. The user deploys one, then two, then one. */
#define NOTHING 0
#define DRIFT 3

#define PENDING 1
#define DEPLOYED 2
#define OLD 3         /* superseded, or failed */
#define UNINSTALLING 4
#define UNINSTALLED 5

#define USER 0
#define FORGER 1

/* The records by revision, and the object. A uid counts the creations of a revision, a version its writes; 0: there is none. */
byte uid[4], ver[4], content[4], status[4];
byte uids[4], vers[4];
byte object;

/* The Secret with the trust. A transaction that began before the last write of it fails. */
byte tRev, tUid, tContent; /* the trusted deployed revision */
byte nUid, nRev, nContent; /* the trusted one that Helm deploys */
byte pUid, pRev, pBy;      /* the last record that Helm has begun with, until it is deployed or ended, and one more than its writer */
byte known;                /* all revisions after the trusted one, up to this one, were judged, and not refused, when they were created */
byte leaving;              /* one more than the writer whose Helm may be at work though no record shows it; 3 for several */
bool behind[4];            /* of a transaction: there was a write since it began; two webhooks, two operators */

/* The requests to the webhook, one of the user and one of the forger. */
bool asked[2];
byte qRev[2], qUid[2], qContent[2], qStatus[2], qBefore[2];
bool qDelete[2], qSame[2];

/* What each operator has locked. */
byte lRev[2], lVer[2];
bool lTrusts[2], busy[2];

byte downs, lates, refusals, tampers;
bool userDone, forgerDone;

/* Ghosts. */
byte wanted;      /* what the user deployed last; 0: nothing, or it is uninstalled */
byte begun;       /* what Helm has last given the object */
byte wantedRev, wantedVer; /* that record */
bool inTime;      /* its last write was judged before it was stored */

#define NEWEST (uid[3] != 0 -> 3 : (uid[2] != 0 -> 2 : (uid[1] != 0 -> 1 : 0)))

inline stateWritten() { behind[0] = true; behind[1] = true; behind[2] = true; behind[3] = true }

/* ---- the trust (pkg/trust/state.go) ---- */

#if defined(NODIGEST)
#define SAMETRUST(r, u, c, R, U, C) (R == r && U == u)
#elif defined(NUMBER)
#define SAMETRUST(r, u, c, R, U, C) (R == r)
#else
#define SAMETRUST(r, u, c, R, U, C) (R == r && U == u && C == c)
#endif
#define TRUSTS(r, u, c) SAMETRUST(r, u, c, tRev, tUid, tContent)

#ifdef EARLIER
bool ever[4]; /* a revision of this content was trusted */
#define WAS(c) ever[c]
#else
#define WAS(c) false
#endif

inline trust(r, u, c) {
	if
	:: nUid != 0 && nRev <= r -> nUid = 0; nRev = 0; nContent = 0
	:: else
	fi;
	#ifdef EARLIER
	ever[c] = true;
#endif
	if
	:: pUid != 0 && pUid == u && pRev == r -> pRev = 0; pUid = 0; pBy = 0
	:: else
	fi;
	tRev = r; tUid = u; tContent = c; known = r; stateWritten()
}

#define BEGUN(r, u) (pUid != 0 && pUid == u && pRev == r)

#define leave(by) leaving = (leaving == 0 || leaving == by -> by : 3)

inline forget(r) {
	if
	:: tUid == 0 || r >= tRev ->
		tRev = 0; tUid = 0; tContent = 0; nUid = 0; nRev = 0; nContent = 0; known = 0; stateWritten()
	:: else
	fi
}

/* ---- the webhook (pkg/witness/witness.go) ---- */

/* The content of a known record, if it exists as it was trusted. */
#define BASE(r, u, c) (u != 0 && uid[r] == u && content[r] == c -> c : NOTHING)

#ifdef BYREVISION
#define LAST qRev[me]
#else
#define LAST 4
#endif

/* A deployed record is one that Helm was deploying; from any other status it needs all rights. */
#ifdef RELABELLED
#define FROM true
#else
#define FROM (qBefore[me] == 0 || qBefore[me] == PENDING || qBefore[me] == DEPLOYED)
#endif

#ifdef NOCHAIN
#define CHAIN true
#else
#define CHAIN (qRev[me] <= known + (qBefore[me] == 0))
#endif

#ifdef NEXTOTHER
#define NEXT (nU != 0 && (nU != qUid[me] || nR != qRev[me]))
#else
#define NEXT (nU != 0 && (nU != qUid[me] || nR != qRev[me] || nC != qContent[me]))
#endif

/*
 * The deletion of the record of an interrupted upgrade returns to the trusted revision, for a user with the rights for the
 * difference from the content that Helm was deploying. The forger has the rights for none.
 */
#define RETURNS (tUid != 0 && nUid != 0 && nUid == qUid[me] && nRev == qRev[me] && BASE(nRev, nUid, nContent) != NOTHING && \
	(me == USER || nContent == tContent))

inline decide() {
	if
	:: allowed && qStatus[me] == DEPLOYED -> trust(qRev[me], qUid[me], qContent[me])
	:: allowed && qStatus[me] == PENDING -> nRev = qRev[me]; nUid = qUid[me]; nContent = qContent[me]; stateWritten()
	:: !allowed ->
		if
		:: TRUSTS(qRev[me], qUid[me], qContent[me]) -> tRev = 0; tUid = 0; tContent = 0
		:: else
		fi;
		stateWritten() /* the refusal is kept, too */
	fi;
	if
	:: allowed && qBefore[me] == 0 && qRev[me] == known + 1 -> known++
	:: else
	fi;
	if
	:: qStatus[me] == DEPLOYED && leaving == me + 1 -> leaving = 0
	:: else
	fi;
	if
	:: qStatus[me] == DEPLOYED && BEGUN(qRev[me], qUid[me]) -> pRev = 0; pUid = 0; pBy = 0
	:: else
	fi;
	behind[me] = false; allowed = false
}

/* A pending record ends without deployment: unless its writer ends it, Helm may go on. */
#define INTERRUPTS (qBefore[me] == PENDING && (tUid == 0 || qRev[me] >= tRev))

inline interrupt() {
	if
#ifdef ENDS
	:: true -> pRev = 0; pUid = 0; pBy = 0
#else
	:: !BEGUN(qRev[me], qUid[me]) -> leave(3)
	:: BEGUN(qRev[me], qUid[me]) ->
		if
		:: pBy != me + 1 -> leave(pBy)
		:: else
		fi;
		pRev = 0; pUid = 0; pBy = 0
#endif
	fi;
	stateWritten()
}

/* Helm begins with a record, or a user changes one that another has begun with. */
inline begin() {
	if
	:: qStatus[me] == PENDING && qBefore[me] != PENDING ->
		if
		:: pUid != 0 && pBy != me + 1 -> leave(pBy)
		:: else
		fi;
		pRev = qRev[me]; pUid = qUid[me]; pBy = me + 1; stateWritten()
	:: qBefore[me] == PENDING && BEGUN(qRev[me], qUid[me]) && pBy != me + 1 ->
		leave(pBy); pRev = 0; pUid = 0; pBy = 0; stateWritten()
	:: else
	fi
}

proctype Witness(byte me) {
	byte sR, sU, sC, nR, nU, nC; /* the state that was read */
	bool allowed, chained;
end:
	do
	:: asked[me] ->
		if
		:: qDelete[me] || qStatus[me] >= UNINSTALLING ->
#ifndef NOFORGET
			d_step {
				if
				:: INTERRUPTS && !(qDelete[me] && RETURNS) -> interrupt()
				:: else
				fi;
				if
				:: qDelete[me] && RETURNS ->
					nRev = 0; nUid = 0; nContent = 0; pRev = 0; pUid = 0; pBy = 0; stateWritten()
				:: qDelete[me] && !RETURNS -> forget(qRev[me])
				:: !qDelete[me] && qStatus[me] == UNINSTALLING -> forget(LAST); leave(me + 1)
				:: !qDelete[me] && qStatus[me] == UNINSTALLED -> forget(LAST)
				fi;
				if
				:: leaving == me + 1 && (qDelete[me] || qStatus[me] == UNINSTALLED) -> leaving = 0
				:: else
				fi
			}
#endif
			skip
		:: !qDelete[me] && (qStatus[me] == OLD || qSame[me]) ->
			d_step {
				if
				:: qStatus[me] == OLD && INTERRUPTS -> interrupt()
				:: else
				fi
			}
		:: !qDelete[me] && qStatus[me] < OLD && !qSame[me] ->
			d_step { begin() };
again:
			skip;
			if
			:: me == USER -> allowed = true; behind[me] = false /* the last of several attempts */
			:: else -> d_step {
				behind[me] = false; sR = tRev; sU = tUid; sC = tContent; nR = nRev; nU = nUid; nC = nContent; chained = CHAIN }
			fi;
			if
			:: me == FORGER -> d_step { /* the records of these */
				allowed = WAS(qContent[me]) || (FROM && chained && BASE(sR, sU, sC) == qContent[me] &&
					(!NEXT || BASE(nR, nU, nC) == qContent[me]));
				sR = 0; sU = 0; sC = 0; nR = 0; nU = 0; nC = 0; chained = false }
			:: else
			fi;
			d_step {
				if
#ifndef NOTXN
				:: behind[me] && me == FORGER -> allowed = false
				:: !behind[me] || me == USER -> decide()
#else
				:: true -> decide()
#endif
				fi
			};
			if
			:: behind[me] -> goto again
			:: else
			fi
		fi;
		atomic {
			asked[me] = false; qRev[me] = 0; qUid[me] = 0; qContent[me] = 0; qStatus[me] = 0; qBefore[me] = 0;
			qDelete[me] = false; qSame[me] = false; behind[me] = true
		}
	od
}

/* ---- requests for records ---- */

/* An uninstallation that is not witnessed is what remains, see README.md. */
#ifdef BLIND
#define MISSED(s) true
#else
#define MISSED(s) (s != UNINSTALLING)
#endif

#define ANY 9 /* of the newest revision that Helm has found: it does not matter any more */
#define CREATE 0
#define UPDATE 1
#define DELETE 2

/*
 * One request: the API server reads the record, asks the webhook, and stores what was asked for if the record is unchanged. A change
 * of a record that has changed meanwhile begins again.
 */
inline request(me, op, r, c, s) {
	stored = true;
	do
	:: stored && was == 0 ->
		atomic {
			!asked[me];
			was = ver[r] + 1;
			if
			:: (op == CREATE) == (ver[r] == 0) ->
				if
				:: op == CREATE -> uids[r]++; id = uids[r]
				:: else -> id = uid[r]
				fi;
				if
				:: downs < DOWNS && MISSED(s) -> downs++
				:: true ->
					qRev[me] = r; qUid[me] = id; qContent[me] = c; qStatus[me] = s; qBefore[me] = status[r];
					qDelete[me] = op == DELETE; qSame[me] = op == UPDATE && content[r] == c && status[r] == s;
					answered = true; asked[me] = true
				fi
			:: else -> stored = false
			fi
		}
	:: stored && was != 0 ->
		if
		:: !asked[me]
		:: atomic { asked[me] && lates < LATES && MISSED(s) -> lates++; answered = false }
		fi;
		atomic {
			if
			:: refusals < REFUSALS -> refusals++; stored = false
			:: ver[r] != was - 1 && op == UPDATE /* again */
			:: ver[r] != was - 1 && op != UPDATE -> stored = false
			:: top != ANY && top != NEWEST -> stored = false
			:: ver[r] == was - 1 && (top == ANY || top == NEWEST) ->
				if
				:: op == DELETE -> uid[r] = 0; ver[r] = 0; content[r] = 0; status[r] = 0
				:: else -> vers[r]++; uid[r] = id; ver[r] = vers[r]; content[r] = c; status[r] = s
				fi;
				if
				:: me == USER && op == UPDATE && s == DEPLOYED -> wanted = c
#ifdef END
					; wantedVer = ver[r]; wantedRev = r; inTime = answered
#endif
				:: me == USER && s == UNINSTALLING -> wanted = NOTHING; begun = NOTHING
				:: else
				fi;
				break
			fi;
			was = 0; id = 0; answered = false
		}
	:: !stored -> break
	od;
	atomic { was = 0; id = 0; answered = false; top = ANY }
}

/* Helm in the name of a user with the rights. It may be killed between any two requests. */
proctype User() {
	byte was, id, next, c, last, i, top = ANY;
	bool stored, answered;
	byte done;
	do
	:: done <= OPS ->
		d_step { done++; last = NEWEST; top = last };
		if
		:: last == 0 || status[last] == UNINSTALLED || status[last] == OLD || status[last] == DEPLOYED ->
			if
			:: last < REVISIONS ->
				c = (done & 1 -> 1 : 2);
				next = last + 1;
				request(USER, CREATE, next, c, PENDING);
				if
				:: stored -> atomic { object = c; begun = c; wanted = (wanted == NOTHING -> c : wanted) }; /* Helm's write of the object */
					if
					:: last != 0 -> request(USER, UPDATE, last, content[last], OLD)
					:: else
					fi;
					if
					:: uid[next] != 0 -> request(USER, UPDATE, next, c, DEPLOYED)
					:: else
					fi
				:: else
				fi
			:: last != 0 && status[last] == DEPLOYED && done > 1 ->
				request(USER, UPDATE, last, content[last], UNINSTALLING);
				if
				:: stored -> object = NOTHING;
					if
					:: true -> /* --keep-history */
						if
						:: uid[last] != 0 -> request(USER, UPDATE, last, content[last], UNINSTALLED)
						:: else
						fi
					:: true -> i = 1;
						do
						:: i < 4 && uid[i] != 0 -> request(USER, DELETE, i, NOTHING, NOTHING); i++
						:: i < 4 && uid[i] == 0 -> i++
						:: i == 4 -> break
						od;
						i = 0
					fi
				:: else
				fi
			:: last == REVISIONS && (status[last] != DEPLOYED || done == 1)
			fi
		:: else
		fi;
		d_step { c = 0; next = 0; last = 0; top = ANY; stored = false }
	:: done > 0 -> break
	od;
	atomic { done = 0; userDone = true }
}

/* A user who may write, relabel and delete records, and not write the object. */
proctype Forger() {
	byte was, id, r, c, s, top = ANY;
	bool stored, answered;
	byte done;
	do
	:: done < FORGED ->
		done++;
		if
		:: r = 1
		:: r = 2
		:: r = REVISIONS
		fi;
		if
		:: uid[r] != 0 -> request(FORGER, DELETE, r, NOTHING, NOTHING)
		:: true ->
			if
			:: c = 1
			:: c = 2
			:: uid[r] != 0 -> c = content[r]
			fi;
			if
			:: s = DEPLOYED
			:: s = OLD
#ifdef FORGEDPENDING
			:: s = PENDING
#endif
			fi;
			if
			:: uid[r] == 0 -> request(FORGER, CREATE, r, c, s)
			:: uid[r] != 0 -> request(FORGER, UPDATE, r, c, s)
			fi
		fi;
		d_step { r = 0; c = 0; s = 0; stored = false }
	:: true -> break
	od;
	atomic { done = 0; forgerDone = true }
}

proctype Tamperer() {
end:
	do
	:: atomic { tampers < TAMPERS && object != NOTHING -> tampers++; object = DRIFT }
	od
}

/* ---- the operator ---- */

#ifdef NOLEAVING
#define LEAVING true
#else
#define LEAVING (leaving == 0)
#endif

/* Where every request of Helm's is witnessed, not even a part of an upgrade is undone. */
#ifdef INPART
#define ALLOWED(c) (c == begun)
#else
#define ALLOWED(c) (c == wanted || c == begun)
#endif

#define WORKING(k) (uid[k] != 0 && (status[k] == PENDING || status[k] == UNINSTALLING))

inline unlock() { lRev[me] = 0; lVer[me] = 0; lTrusts[me] = false; c = 0; u = 0; r = 0; behind[me + 2] = true; busy[me] = false }

#define SAME (lRev[me] == r && lVer[me] == ver[r] && uid[r] != 0 && status[r] == DEPLOYED)

proctype Operator(byte me) {
	byte r, c, u;
#ifdef CACHE
	byte kR, kU, kC; /* what it has seen of the trust */
#endif
end:
	do
#ifdef CACHE
	:: atomic { kR != tRev || kU != tUid || kC != tContent -> kR = tRev; kU = tUid; kC = tContent }
#endif
	/* The newest record and its payload, and then the trust in it. */
	:: atomic { NEWEST != 0 && status[NEWEST] == DEPLOYED && (lRev[me] != NEWEST || lVer[me] != ver[NEWEST]) ->
			r = NEWEST; lRev[me] = r; lVer[me] = ver[r]; lTrusts[me] = false; c = content[r]; u = uid[r]; busy[me] = true
		};
		d_step {
#ifdef CACHE
			lTrusts[me] = SAMETRUST(r, u, c, kR, kU, kC);
#else
			lTrusts[me] = TRUSTS(r, u, c);
#endif
			busy[me] = false;
			behind[me + 2] = lTrusts[me];
#ifndef WORKLATE
			behind[me + 2] = lTrusts[me] || (r > 1 && WORKING(1)) || (r > 2 && WORKING(2))
#endif
		}
	:: atomic { NEWEST != 0 && status[NEWEST] == UNINSTALLED && r != NEWEST -> unlock(); r = NEWEST };
		atomic {
			if
			:: tUid != 0 -> forget(r)
			:: else
			fi;
			r = 0
		}
	/* A revert: order.pml has the order of the check and the write. */
	:: atomic { lTrusts[me] && object != c ->
		r = NEWEST;
		if
#ifdef RECHECK
		:: SAME && !TRUSTS(r, u, c) -> unlock()
		:: SAME && TRUSTS(r, u, c) -> assert(ALLOWED(c)); object = c
#else
		:: SAME -> assert(ALLOWED(c)); object = c
#endif
		:: else -> unlock()
		fi }
#ifndef OUTLIVES
	/* The watch shows some time that a record of the release has changed, or came and went. */
	:: atomic { lTrusts[me] && !TRUSTS(lRev[me], u, c) -> unlock() }
#endif
#ifndef NORULE2
	/* A doubted record: trusted if nothing is to be written. */
	:: atomic { r != 0 && c != 0 && !lTrusts[me] && object == c -> busy[me] = true };
		if
		:: !((r > 1 && WORKING(1)) || (r > 2 && WORKING(2))) && LEAVING ->
#ifndef RULE2LATE
			d_step { /* as of the trust that was read with the record */
				if
				:: behind[me + 2] || NEWEST != r || ver[r] != lVer[me] -> unlock()
				:: else
				fi
			};
			d_step {
				if
				:: behind[me + 2] || r == 0 -> unlock()
				:: else -> trust(r, u, c); lTrusts[me] = true; busy[me] = false
				fi
			}
#else
			d_step { trust(r, u, c); lTrusts[me] = true; busy[me] = false }
#endif
		:: else -> unlock()
		fi
#endif
#ifndef END
	/* Crash: what it knows goes with it. */
	:: atomic { r != 0 -> unlock() }
#endif
	od
}

init {
	atomic {
		run Witness(USER); run Witness(FORGER); run User(); run Forger(); run Tamperer(); run Operator(0);
#if LEADERS > 1
		run Operator(1);
#endif
		skip
	}
#ifdef END
	/* What must be true when nothing is left to do. */
	atomic {
		timeout;
		/* No lock outlives the trust in its record. */
		assert(!lTrusts[0] || ver[lRev[0]] != lVer[0] || TRUSTS(lRev[0], uid[lRev[0]], content[lRev[0]]));
		if
		:: NEWEST != 0 && NEWEST == wantedRev && ver[NEWEST] == wantedVer ->
			assert(!inTime || object == content[NEWEST]);   /* a witnessed revision is enforced */
			assert(object != content[NEWEST] || lTrusts[0]) /* and so is one that was as declared */
		:: else
		fi
	}
#endif
}
