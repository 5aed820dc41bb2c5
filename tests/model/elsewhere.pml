/*
 * I1 where the records of a release are stored in another namespace than its objects name. One object, which names a release; its
 * record is stored elsewhere, and that is locked. Helm may keep a record of that release in the namespace of the objects, too
 * (native): helm install takes the object over, because it names that very release. A tenant may forge a record in a third
 * namespace. order.pml has one key, and all that is not about keys. README.md says what is modelled; variants.go lists the runs.
 */

#ifndef OPS
#define OPS 1      /* operations of Helm with each of the two records */
#endif
#ifndef TAMPERS
#define TAMPERS 1
#endif

/* Keys of records. */
#define NATIVE 0
#define STORED 1
#define FORGED 2
#ifdef VICTIM
#define LOCKED NATIVE /* the release is native, and nothing is stored elsewhere but what is forged */
#else
#define LOCKED STORED
#endif

#define NONE 0
#define PENDING 1
#define DEPLOYED 2
#define UNINSTALLING 3
#define FAILED 4

#define ABSENT 0
#define A 1
#define B 2
#define UNKNOWN 4

/* The newest record of each key. */
byte status[4];
byte wanted[4];
byte madeBy[4];        /* the operation of Helm that wrote it */
byte op = 1;           /* Helm's newest operation, of any key */

byte object = A;
byte helmWrote = 1;    /* the last operation of Helm's that wrote or deleted the object */
byte wroteFor = LOCKED; /* and the key of its record */
bool meantToday;       /* Helm's last operation with the native record has come to the object, and no other user has changed it since */
bool lockerLast;       /* the locker was the last to change the object */
byte running = 4;

/* What the locker knows. */
byte locked;           /* the operation that wrote the locked record; 0: nothing is locked */
byte want;
byte seen = UNKNOWN;
bool same;             /* the locked record is the one that was seen */
bool fresh;            /* the object is the one that was seen */
bool mine;             /* the object is as the locker wrote it */
bool known;            /* no record has changed since the last look at all of them */
#define UPDATED 1
#define CREATED 2
#define DELETED 3
byte unproven;
byte before, wrote;

inline objectWritten() { fresh = false; mine = false }
inline recordWritten(k) { known = false; same = same && k != LOCKED }

/* Another record counts if it declares the object; one that is native, before all that are stored elsewhere. */
#define DECLARES(k) (status[k] != NONE && wanted[k] != ABSENT)
#if defined(VICTIM)
#define NATIVE_COUNTS false
#else
#define NATIVE_COUNTS DECLARES(NATIVE)
#endif
#ifdef ANYKEY
#define FORGED_COUNTS DECLARES(FORGED)
#else
#define FORGED_COUNTS false
#endif

/* ---- Helm, once for each key ---- */

inline store(to, what) { d_step { op++; mineOp = op; status[k] = to; wanted[k] = what; madeBy[k] = op; recordWritten(k) } }

/* Helm writes where it finds something else. */
inline writeObject() {
	found = object;
	d_step {
		if
		:: found == wanted[k]
		:: found != wanted[k] -> object = wanted[k]; helmWrote = mineOp; wroteFor = k; meantToday = false; lockerLast = false; objectWritten()
		fi;
		if
		:: k == NATIVE -> meantToday = true
		:: else
		fi;
		found = 0
	}
}

proctype Helm(byte k) {
	byte done, found, mineOp, declared;
	do
	:: done == OPS || true -> break
	:: done < OPS && status[k] != PENDING -> done++; /* install or upgrade */
		if
		:: declared = A
		:: declared = B
		:: status[k] != NONE -> declared = ABSENT
		fi;
		store(PENDING, declared); declared = 0;
		if
		:: d_step { status[k] = FAILED; recordWritten(k) }
		:: writeObject();
			d_step { status[k] = DEPLOYED; recordWritten(k) }
		fi
	:: done < OPS && status[k] == DEPLOYED -> done++; /* uninstall */
		d_step { op++; mineOp = op; status[k] = UNINSTALLING; madeBy[k] = op; recordWritten(k) };
		d_step {
			if
			:: wanted[k] != ABSENT && object != ABSENT ->
				object = ABSENT; helmWrote = mineOp; wroteFor = k; meantToday = false; lockerLast = false; objectWritten()
			:: else
			fi
		};
		d_step { status[k] = NONE; wanted[k] = ABSENT; madeBy[k] = 0; recordWritten(k) }
	od;
	skip;
	d_step { done = 0; mineOp = 0 };
	running--
}

proctype Others() {
	byte done;
	do
	:: done == TAMPERS || true -> break
	:: done < TAMPERS ->
		if
		:: d_step { done++;
			if
			:: object == A -> object = B; meantToday = false; lockerLast = false; objectWritten()
			:: object == B -> object = A; meantToday = false; lockerLast = false; objectWritten()
			:: else
			fi
		   }
		:: d_step { done++; object = ABSENT; meantToday = false; lockerLast = false; objectWritten() }
		fi
#if defined(ANYKEY) || defined(VICTIM) /* it makes no difference elsewhere */
	:: status[FORGED] == NONE -> d_step { status[FORGED] = PENDING; wanted[FORGED] = B; recordWritten(FORGED) }
#endif
	od;
	done = 0;
	running--
}

/* ---- the locker ---- */

inline forget() { locked = 0; want = 0; same = false }

inline relock() {
	d_step {
		if
		:: status[LOCKED] == DEPLOYED -> locked = madeBy[LOCKED]; want = wanted[LOCKED]; same = true
		:: else -> forget()
		fi
	}
}

inline observe() { d_step { seen = object; fresh = object != ABSENT } }

#define DRIFT (locked != 0 && seen != UNKNOWN && seen != want)

/* One list for each key, in any order. */
inline check() {
	if
#ifdef LOCKEDONLY
	:: holds = same
#else
	:: holds = same; holds = holds && !NATIVE_COUNTS && !FORGED_COUNTS
	:: holds = !NATIVE_COUNTS && !FORGED_COUNTS; holds = holds && same
#endif
#ifdef EXISTINGONLY /* what there is names its release, and what is to be created does not */
	:: seen == ABSENT || want == ABSENT -> holds = same
#endif
	fi
}

inline put(how, what) {
	before = object; wrote = what; unproven = how;
	object = what; lockerLast = true; objectWritten(); mine = true
}

inline proven() { unproven = 0; before = 0; wrote = 0; mine = false }

/* No write of Helm's that counts is undone. */
#define NOT_HELMS (wroteFor == LOCKED -> helmWrote <= locked : !NATIVE_COUNTS)

/* After a write all records are read again; the native one counts before the locked one. */
#if defined(LOCKEDONLY) || defined(PROVENLOCKEDONLY)
#define AUTHORITY LOCKED
#else
#define AUTHORITY (NATIVE_COUNTS -> NATIVE : LOCKED)
#endif
#define GONE (status[AUTHORITY] == NONE || status[AUTHORITY] == UNINSTALLING)
#define WAITS (unproven == DELETED && status[AUTHORITY] == PENDING && wanted[AUTHORITY] != ABSENT)

inline prove() {
	d_step {
		known = true;
		if
		:: WAITS
		:: !WAITS && unproven == CREATED && (GONE || wanted[AUTHORITY] == ABSENT) -> todo = DELETED
		:: !WAITS && !GONE && unproven == UPDATED && wanted[AUTHORITY] == before && wrote != before -> todo = UPDATED
		:: !WAITS && !GONE && unproven == DELETED && wanted[AUTHORITY] == before -> todo = CREATED
		:: else -> proven()
		fi
	};
	if
	:: todo == 0
	:: todo == DELETED ->
		d_step {
			if
			:: mine -> put(DELETED, ABSENT)
			:: else -> proven()
			fi
		}
	:: todo == UPDATED || todo == CREATED ->
		observe();
		if
		:: seen != wrote -> d_step { proven() } /* somebody has written since */
		:: seen == wrote && !known /* look again */
		:: seen == wrote && known ->
			d_step {
				if
				:: todo == UPDATED && fresh -> seen = before; put(UPDATED, seen)
				:: todo == CREATED && object == ABSENT -> seen = before; put(CREATED, seen)
				:: else
				fi
			}
		fi
	fi;
	d_step { todo = 0; known = false; seen = UNKNOWN; fresh = false }
}

#define QUIET (running == 1)

proctype Locker() {
	byte todo;
	bool holds;
round:
	do
	:: true -> relock()
	:: true -> observe()
	:: unproven != 0 && !WAITS -> prove()
	:: DRIFT -> break
	:: QUIET && (unproven == 0 || WAITS) ->
		relock(); observe();
		if
		:: DRIFT && !NATIVE_COUNTS && !FORGED_COUNTS -> break
		:: else -> goto rest
		fi
	od;
	check();
	if
	:: !holds
	:: holds ->
		d_step {
			proven();
			if
			:: seen != ABSENT && fresh ->
				assert(NOT_HELMS); /* I1, and I2 where it is a deletion */
				put((want == ABSENT -> DELETED : UPDATED), want)
			:: seen == ABSENT && object == ABSENT -> put(CREATED, want)
			:: else /* a conflict */
			fi
		}
	fi;
	d_step { holds = false; seen = UNKNOWN; fresh = false };
	goto round;
rest:
	skip;
	d_step { proven(); forget(); seen = UNKNOWN; fresh = false };
	running--
}

init {
	atomic {
		status[LOCKED] = DEPLOYED; wanted[LOCKED] = A; madeBy[LOCKED] = 1;
		run Helm(NATIVE); run Others(); run Locker();
#ifdef VICTIM
		running--
#else
		run Helm(STORED)
#endif
	}
	running == 0;
	d_step {
		if
		:: NATIVE_COUNTS && status[NATIVE] == DEPLOYED && lockerLast ->
			assert(!meantToday || object == wanted[NATIVE]) /* I1: what Helm found is undone */
		:: !NATIVE_COUNTS && status[LOCKED] == DEPLOYED && wanted[LOCKED] != ABSENT ->
			assert(object == wanted[LOCKED]) /* I5, I12: nobody has switched the lock off */
		:: !NATIVE_COUNTS && status[LOCKED] == NONE && lockerLast ->
			assert(object == ABSENT) /* what Helm deleted does not come back */
		:: else
		fi
	}
}
