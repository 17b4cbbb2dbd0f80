/** An agent as docs/protocol.md describes it, in memory: `Kept` has the data that a store would hold, and survives a session. */
import { randomBytes } from 'node:crypto';
import { Call, type Identity } from './call.ts';
import {
  allIn,
  bytesIn,
  digestOf,
  down,
  entry,
  entryOf,
  frame,
  kindOf,
  numberIn,
  type Tuple,
  textIn,
  tuple,
  tupleOf,
  up,
  write,
} from './frames.ts';
import { answer, compare, prefix, seedBytes } from './prefixes.ts';
import { hash, type Row, Rows } from './rows.ts';

type Fields = Parameters<typeof numberIn>[0];

/** The durable state. */
export class Kept {
  bootCounter = Math.floor(Date.now() / 1000);
  attachedNonce = Buffer.alloc(0);
  /** State of the down feed. */
  readonly rows = new Rows();
  tuple: Tuple = { epoch: '', incarnation: '', cursor: 0, seenHead: 0 };
  /** State of the up feed: the values, and the revision at which each was written. */
  readonly reported = new Rows();
  readonly revisions = new Map<string, number>();
  readonly epoch = randomBytes(16).toString('hex');
  readonly incarnations: { nonce: string; start: number }[] = [];
  head = 0;

  report(key: string, attributes: object, body: object | '' = '', originRevision = 0): void {
    const bytes = (value: object | '') => Buffer.from(value === '' ? '' : JSON.stringify(value));
    const name = this.reported.put({ key, attributes: bytes(attributes), body: bytes(body), originRevision });
    this.revisions.set(name, ++this.head);
  }

  withdraw(key: string): void {
    const name = hash(key).toString('hex');
    this.reported.delete(name);
    this.revisions.set(name, ++this.head);
  }

  row(key: string): Row | undefined {
    return [...this.rows.values()].find((row) => row.key === key);
  }
}

export interface Place {
  readonly address: string;
  readonly path: string;
  /** Default: agent. */
  readonly role?: 'agent' | 'relay';
  readonly identity: Identity;
}

/** One start of the process, and its session. */
export class Outsider {
  readonly #kept: Kept;
  readonly #place: Place;
  readonly #call: Call;
  readonly #nonce = randomBytes(16);
  readonly receivedKinds: string[] = [];
  /** Numbers of entries in batches and replies: the cost of the session. */
  receivedEntries = 0;
  refused = '';
  ended: string | undefined;
  resumed: boolean | undefined;
  caughtUp = false;
  acknowledged = 0;
  digestAgrees: boolean | undefined;
  #sent = 0;
  /** Whether the parent takes batches: at once if the feed goes on, and otherwise when the parent has reconciled. */
  #parentTakes = false;
  #parentReady = false;
  #beats = 0;
  #round = 0;
  #prefixes: string[] = [];
  #seed = Buffer.alloc(0);
  #wanted: Buffer[] = [];
  #removed: string[] = [];
  #first: Tuple | undefined;
  #beat: NodeJS.Timeout | undefined;

  constructor(kept: Kept, place: Place) {
    this.#kept = kept;
    this.#place = place;
    kept.bootCounter++;
    kept.incarnations.push({ nonce: this.#nonce.toString('hex'), start: kept.head });
    this.#call = new Call(
      place.address,
      place.identity,
      (message) => this.#receive(message),
      (why) => {
        this.ended ??= why;
        clearInterval(this.#beat);
      },
    );
  }

  async attach(): Promise<void> {
    await this.#call.accepted();
    const { bootCounter, attachedNonce, tuple: has } = this.#kept;
    const hello = write(
      [1, 1],
      [2, 1],
      [3, this.#place.path],
      [4, this.#place.role ?? 'agent'],
      [5, bootCounter],
      [6, this.#nonce],
      [7, 1],
      [8, tuple(has)],
      [9, 1 << 20],
      [10, 4 << 20],
      [11, 'second/1'],
      [12, 'grpc'],
      [13, attachedNonce],
    );
    this.#call.send(frame('hello', hello));
  }

  /** Sends the entries that `Kept.report` has added, as soon as the parent takes them. */
  push(): void {
    const { head, epoch, reported, revisions } = this.#kept;
    if (!this.#parentTakes || this.#sent >= head) return;
    const changed = [...revisions].filter(([, revision]) => revision > this.#sent).sort(([, a], [, b]) => a - b);
    const entries = changed.map(([name, revision]) => entry(name, revision, reported.get(name)));
    const batch = write(
      [1, up],
      [2, entries],
      [3, this.#sent],
      [4, head],
      [5, head],
      [6, Buffer.from(epoch, 'hex')],
      [7, this.#nonce],
    );
    this.#call.send(frame('batch', batch));
    this.#sent = head;
  }

  close(): void {
    clearInterval(this.#beat);
    this.#call.send(frame('goodbye', write([1, 'done'])));
    this.#call.close();
  }

  get parent(): string {
    return this.#call.parent;
  }

  #receive(message: Buffer): void {
    const known = kindOf(message);
    if (!known) return;
    const { kind, fields } = known;
    this.receivedKinds.push(kind);
    switch (kind) {
      case 'retry':
        this.refused = `${textIn(fields, 2)}: ${textIn(fields, 3)}`;
        return;
      case 'welcome':
        return this.#welcomed(fields);
      case 'batch':
        return this.#batch(fields);
      case 'beat':
        return this.#receivedBeat(fields);
      case 'ack':
        return this.#acknowledged(numberIn(fields, 2));
      case 'request':
        return this.#answer(fields);
      case 'reply':
        return this.#absorb(fields);
    }
  }

  #welcomed(fields: Fields): void {
    const kept = this.#kept;
    kept.attachedNonce = this.#nonce;
    this.resumed = numberIn(fields, 5) === 1;
    this.#parentReady = numberIn(fields, 6) === 1;
    const has = tupleOf(bytesIn(fields, 3));
    const resumes = this.#mayResume(has);
    const resume = write([1, up], [2, resumes], [3, Buffer.from(kept.epoch, 'hex')], [4, this.#nonce]);
    this.#call.send(frame('resume', resume));
    this.#sendBeat();
    this.#beat = setInterval(() => this.#sendBeat(), 15_000);
    if (resumes) this.#goOn(has.cursor);
    if (!this.resumed && this.#parentReady) this.#reconcile();
  }

  #acknowledged(cursor: number): void {
    this.acknowledged = cursor;
    if (!this.#parentTakes) this.#goOn(cursor);
  }

  #goOn(cursor: number): void {
    this.#parentTakes = true;
    this.#sent = cursor;
    this.push();
  }

  /** Nothing is ever purged here, so the last of the five rules always holds. */
  #mayResume({ epoch, incarnation, cursor, seenHead }: Tuple): boolean {
    const { incarnations, head } = this.#kept;
    if (epoch === '') return true;
    const at = incarnations.findIndex(({ nonce }) => nonce === incarnation);
    const end = incarnations[at + 1]?.start ?? head;
    return epoch === this.#kept.epoch && at >= 0 && seenHead <= end && cursor <= seenHead;
  }

  /** Sends a beat now, with the digest of what was sent. */
  beat(): void {
    const { count, sum } = this.#kept.reported.digest();
    const digest = write([1, this.#kept.head], [2, count], [3, sum]);
    this.#sendBeat(this.#sent === this.#kept.head ? [[7, digest]] : []);
  }

  #sendBeat(more: Parameters<typeof write> = []): void {
    this.#call.send(frame('beat', write([1, ++this.#beats], [2, this.#kept.head], [5, true], ...more)));
  }

  #receivedBeat(fields: Fields): void {
    this.#parentReady = numberIn(fields, 5) === 1;
    if (this.resumed === false && this.#parentReady && this.#round === 0) this.#reconcile();
    this.#note(numberIn(fields, 2));
    const digest = digestOf(bytesIn(fields, 7));
    if (!digest || digest.revision !== this.#kept.tuple.cursor) return;
    const own = this.#kept.rows.digest();
    this.digestAgrees = digest.count === own.count && digest.sum.equals(own.sum);
  }

  #note(head: number): void {
    if (this.resumed && this.#parentReady && this.#kept.tuple.cursor >= head) this.caughtUp = true;
  }

  #batch(fields: Fields): void {
    const kept = this.#kept;
    const [from, to, head] = [numberIn(fields, 3), numberIn(fields, 4), numberIn(fields, 5)];
    if (to > kept.tuple.cursor) {
      if (from !== kept.tuple.cursor) throw new Error(`a batch from ${from} at cursor ${kept.tuple.cursor}`);
      this.#store(allIn(fields, 2));
      const [epoch, incarnation] = [bytesIn(fields, 6).toString('hex'), bytesIn(fields, 7).toString('hex')];
      kept.tuple = { epoch, incarnation, cursor: to, seenHead: head };
    }
    this.#call.send(frame('ack', write([1, down], [2, to], [3, bytesIn(fields, 6)])));
    this.#note(head);
  }

  #store(entries: readonly Buffer[]): void {
    for (const bytes of entries) {
      const { hash, row } = entryOf(bytes);
      this.receivedEntries++;
      const before = this.#kept.rows.get(hash);
      if (row && before && before.originRevision > row.originRevision) continue;
      if (row) this.#kept.rows.put(row);
      else this.#kept.rows.delete(hash);
    }
  }

  // ----------------------------------------------------------------------------- reconciliation, as a consumer

  #reconcile(): void {
    this.#seed = randomBytes(seedBytes);
    this.#prefixes = [''];
    this.#ask();
  }

  #ask(): void {
    if (this.#prefixes.length === 0 && this.#wanted.length === 0) return this.#finish();
    const { rows } = this.#kept;
    const request = write(
      [1, down],
      [2, ++this.#round],
      [3, this.#seed],
      [4, this.#prefixes.slice(0, 256).map((digits) => prefix(rows, this.#seed, digits))],
      [5, this.#wanted.slice(0, 256)],
    );
    this.#call.send(frame('request', request));
  }

  #absorb(fields: Fields): void {
    this.#first ??= {
      epoch: bytesIn(fields, 6).toString('hex'),
      incarnation: bytesIn(fields, 7).toString('hex'),
      cursor: numberIn(fields, 5),
      seenHead: numberIn(fields, 5),
    };
    const asked = this.#prefixes.splice(0, 256);
    const entries = allIn(fields, 4);
    const hashes = entries.map((bytes) => entryOf(bytes).hash);
    this.#wanted = this.#wanted.filter((wanted) => !hashes.includes(wanted.toString('hex')));
    for (const [i, answer] of allIn(fields, 3).entries()) {
      const { askOn, wanted, removed } = compare(this.#kept.rows, this.#seed, asked[i]!, answer);
      this.#prefixes.push(...askOn);
      this.#wanted.push(...wanted);
      this.#removed.push(...removed);
    }
    this.#store(entries.filter((bytes) => entryOf(bytes).row !== undefined));
    this.#ask();
  }

  #finish(): void {
    for (const name of this.#removed) this.#kept.rows.delete(name);
    this.#kept.tuple = this.#first!;
    const { cursor, epoch } = this.#first!;
    this.#call.send(frame('ack', write([1, down], [2, cursor], [3, Buffer.from(epoch, 'hex')])));
    this.resumed = true;
    this.#note(cursor);
  }

  // ----------------------------------------------------------------------------- reconciliation, as a producer

  #answer(fields: Fields): void {
    const { reported, revisions, head, epoch } = this.#kept;
    const seed = bytesIn(fields, 3);
    const wanted = allIn(fields, 5).map((bytes) => bytes.toString('hex'));
    const entries = wanted.map((name) => entry(name, revisions.get(name) ?? head, reported.get(name)));
    const reply = write(
      [1, up],
      [2, numberIn(fields, 2)],
      [3, allIn(fields, 4).map((asked) => answer(reported, seed, asked))],
      [4, entries],
      [5, head],
      [6, Buffer.from(epoch, 'hex')],
      [7, this.#nonce],
    );
    this.#sent = head;
    this.#call.send(frame('reply', reply));
  }
}
