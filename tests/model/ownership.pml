/*
 * I4, as Helm left it, where a revert is several requests and the operator may die between any two of them. One object that Helm 4
 * has applied, with one field; every block in d_step is one request to the API server. order.pml has the records; here Helm rests.
 * README.md says what is modelled and what is not; variants.go lists the runs.
 */

#ifndef TAMPERS
#define TAMPERS 2   /* changes by another user */
#endif
#ifndef TOUCHES
#define TOUCHES 1   /* writes of a controller to something else in the object */
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef REFUSALS
#define REFUSALS 1  /* requests of the operator that the API server does not carry out */
#endif

/* The field: as declared, changed, or with an element beside it that no apply of Helm's takes out. */
#define DECLARED 0
#define CHANGED 1
#define BESIDE 2
byte content = DECLARED;

/* The managers that own it. A helm upgrade that changes the field succeeds if Helm's manager is the only one. */
#define HELM 1
#define FOREIGN 2
#define OWN 4       /* the operator's, for the moment between two requests */
byte owners = HELM;

bool fresh;         /* the object still has the resourceVersion that the operator knows */
bool news = true;   /* the watch has something to tell, or the operator has just started */
byte running = 3;
byte crashes, refusals;
byte writes;        /* of the operator since the last event of others */

/* Answers. */
#define DONE 1
#define CONFLICT 2
#define REFUSED 3

#ifdef CONTENT
#define IN_SYNC (seen == DECLARED)
#else
#define IN_SYNC (seen == DECLARED && owned == HELM)
#endif

inline written() { fresh = false; news = true }

proctype Tamperer() {
	byte done;
	do
	:: done == TAMPERS || true -> break
	:: done < TAMPERS -> d_step { done++; content = CHANGED; owners = FOREIGN; writes = 0; written() }
	:: done < TAMPERS -> d_step { done++; content = BESIDE; owners = FOREIGN; writes = 0; written() }
#ifndef NOSHARES
	/* a user applies the whole object as it is, and shares the field with Helm */
	:: done < TAMPERS && content == DECLARED -> d_step { done++; owners = owners | FOREIGN; writes = 0; written() }
#endif
	od;
	done = 0;
	running--
}

proctype Controller() {
	byte done;
	do
	:: done == TOUCHES || true -> break
	:: done < TOUCHES -> d_step { done++; writes = 0; written() }
	od;
	done = 0;
	running--
}

/* A request of the operator, on the condition that the object is as it was. */
inline request(to, by) {
	if
	:: refusals < REFUSALS -> refusals++; answer = REFUSED
	:: d_step {
		if
		:: fresh ->
			content = to; owners = by; answer = DONE; writes++;
			assert(writes <= 6); /* I6 */
			written(); fresh = true
		:: else -> answer = CONFLICT
		fi
	   }
	fi
}

inline get() { d_step { seen = content; owned = owners; fresh = true } }

/* What changes ownership alone undoes no other write, so after a conflict the object is read and it is tried again. */
inline changeOwners(by) {
	do
	:: request(content, by);
		if
		:: answer == CONFLICT -> get()
		:: else -> break
		fi
	:: crashes < CRASHES -> crashes++; goto start
	od;
	if
	:: answer == REFUSED -> goto again
	:: answer == DONE
	fi
}

active proctype Operator() {
	byte seen, owned, answer;
start:
	skip; /* What it knew is gone; the list that every start makes tells it of the object. */
	d_step { news = true; fresh = false; seen = DECLARED; owned = 0; answer = 0 };
idle:
	if
	:: news
	:: running == 1 && !news -> goto rest
	:: crashes < CRASHES -> crashes++; goto start
	fi;
again:
	skip;
	d_step { news = false; get(); answer = 0 };
	if
	:: IN_SYNC -> goto idle
	:: else
	fi;
	/* the record is read; nothing of that is in here */
	if
	:: crashes < CRASHES -> crashes++; goto start
	:: true
	fi;
#ifdef ONEREQUEST
	request(DECLARED, HELM);
#else
	if
	:: seen == BESIDE -> request(DECLARED, OWN)
	:: seen == CHANGED -> request(DECLARED, HELM)
	:: seen == DECLARED -> request(DECLARED, owners | HELM)
	fi;
#endif
	if
	:: answer != DONE -> goto again
	:: answer == DONE
	fi;
	if
	:: crashes < CRASHES -> crashes++; goto start
	:: true
	fi;
#ifndef ONEREQUEST
	if
	:: owners & OWN -> changeOwners((owners & ~OWN) | HELM)
	:: else
	fi;
	if
	:: crashes < CRASHES -> crashes++; goto start
	:: true
	fi;
	if
	:: (owners & HELM) && owners != HELM -> changeOwners(((owners & HELM) -> HELM : owners))
	:: else
	fi;
#endif
	goto idle;
rest:
	running--
}

init {
	atomic { run Tamperer(); run Controller() };
	running == 0;
	assert(content == DECLARED);
	assert(owners == HELM) /* I4: the next helm upgrade succeeds */
}
