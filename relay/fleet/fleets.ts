/** The fleets of a node, made when somebody asks for them, and the answers to questions about them. */
import type { Kind, Kinds } from '../../core/apiserver/space.ts';
import { parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import type { GroupResource } from '../../core/object/key.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { Fleet, type FleetChild, type FleetPorts } from './fleet.ts';
import type { AskRelay } from './fleet-ask.ts';
import { FleetKinds } from './fleet-kinds.ts';
import type { Away, FleetLine } from './fleet-lines.ts';
import { type Asker, type FleetQuestion, type KindsQuestion, patienceBelow } from './fleet-question.ts';
import { listLines } from './list.ts';
import { RelayAnswers } from './relay-answers.ts';
import { Wake } from './signals.ts';
import { Slots } from './slots.ts';
import { type FleetWatchPorts, watchLines } from './watch.ts';

/**
 * Lists that a node makes at once, for clients and for its parent. Each holds at most eight windows of 256 KiB and a page, so all together hold less than
 * 150 MB, and in practice a tenth of it.
 */
const listsMax = 32;
/** Watches that a node serves at once. Each has one stream to each child relay, and a session carries 256 streams. */
const watchesMax = 128;
/** Clients discover kinds often, and kinds at clusters change seldom. */
const kindsFreshMs = 60_000;

/** A client asks again within some seconds. */
const brokenOffMs = 30_000;

export interface FleetsPorts extends Omit<FleetPorts, 'selectable'> {
  ask(child: string, asker: Asker, question: FleetQuestion, signal: AbortSignal): AsyncIterable<FleetLine>;
  /** Returns the kinds of the source's space. Undefined: this node has no such space, and nothing from above under this name. */
  kindsOf(source: string): Kinds | undefined;
  /** Returns why a child relay is not asked at present, although it is connected. Undefined: it is asked. */
  resting(child: string): string | undefined;
  /** Relays deeper than this node's children that are not connected, as their parents last reported. */
  disconnectedBelow(): Iterable<Away>;
  defer(run: () => void): void;
}

interface KindsState {
  readonly kinds: FleetKinds;
  /** When the nodes below were asked for the last time. */
  askedAtMs?: number;
  /** Resolves when their answers are there. */
  learned?: Promise<void>;
}

export class Fleets {
  readonly #ports: FleetsPorts;
  readonly #fleets = new Map<string, Fleet>();
  readonly #kinds = new WeakMap<Fleet, KindsState>();
  /** Keyed by path. */
  readonly #brokenOff = new Map<string, { readonly away: Away; readonly untilMs: number }>();
  readonly #lists = new Slots('lists of fleets', listsMax);
  readonly #watches = new Slots('watches of fleets', watchesMax);

  constructor(ports: FleetsPorts) {
    this.#ports = ports;
  }

  /** The kinds of the source, with those of the clusters as far as this node has learned them. */
  kinds(source: string): FleetKinds {
    return this.#kindsOf(this.#fleet(source)).kinds;
  }

  /** Answers a question of a client or of the parent. The first line throws the error of a question that can't be answered. */
  answer(question: FleetQuestion, asker: Asker, signal: AbortSignal): AsyncIterable<FleetLine> {
    const { source } = question;
    if (question.type === 'kinds') return this.#lists.use(() => this.#kindsLines(question, asker, signal));
    const ports = this.#answerPorts(asker);
    if (question.type === 'list') return this.#lists.use(() => listLines(this.#fleet(source), question, ports, signal));
    return this.#watches.use(() => watchLines(this.#fleet(source), question, ports, signal));
  }

  /** The places that are known not to answer, as far as the question concerns them. */
  away(source: string, at: string | undefined, paths: readonly string[] | undefined): Away[] {
    const { connection, resting, disconnectedBelow, clock } = this.#ports;
    const fleet = this.#fleet(source);
    const relays = fleet.childrenTowards(at, paths).filter(({ role }) => role === 'relay');
    const isSilent = ({ name }: FleetChild) => !connection(name).connected || resting(name) !== undefined;
    const silent = relays.filter(isSilent);
    const answering = relays.filter((relay) => !isSilent(relay));
    const nowMs = clock.monotonicMs();
    for (const [path, { untilMs }] of this.#brokenOff) if (untilMs < nowMs) this.#brokenOff.delete(path);
    const deeper = [...disconnectedBelow(), ...Array.from(this.#brokenOff.values(), ({ away }) => away)];
    return [
      ...silent.map((relay) => fleet.awayOf(relay, resting(relay.name) ?? '')),
      ...deeper.filter(({ path }) => answering.some((relay) => path.startsWith(`${relay.path}:`))),
    ];
  }

  /** Call it when a list had to be broken off because of this place. The next list then names the place before it begins. */
  brokenOff(away: Away): void {
    this.#brokenOff.set(away.path, { away, untilMs: this.#ports.clock.monotonicMs() + brokenOffMs });
  }

  /** Asks the nodes below for the kinds of their clusters, if the answers of the last time are old. */
  async learnKinds(question: KindsQuestion, asker: Asker, signal: AbortSignal): Promise<void> {
    for await (const line of this.answer(question, asker, signal)) if (line.type === 'end') return;
  }

  // ------------------------------------------------------------------------------------------------------- changes

  mailboxChanged(child: string): void {
    for (const fleet of this.#inUse()) fleet.mailboxChanged(child);
  }

  reportedChanged(child: string, changes: readonly AppliedChange[]): void {
    if (this.#fleets.size === 0) return;
    const entries = changes.flatMap(({ key }) => {
      const entry = parseEntryKey(key);
      return entry?.type === 'state' || entry?.type === 'associated' || entry?.type === 'upsynced' ? [entry] : [];
    });
    for (const fleet of this.#inUse()) {
      const keys = entries.filter(({ source }) => source === fleet.source).map(({ object }) => object);
      fleet.refresh(child, keys);
    }
  }

  connectionChanged(child: string): void {
    for (const fleet of this.#inUse()) fleet.connectionChanged(child);
  }

  /** Call it when these children were added or read again. */
  childrenRead(children: ReadonlySet<string>): void {
    for (const fleet of this.#inUse()) fleet.childrenRead(children);
  }

  /** Call it when the space was removed. A later space of this name has another fleet, which knows no position of this one. */
  sourceRemoved(source: string): void {
    const fleet = this.#fleets.get(source);
    this.#fleets.delete(source);
    fleet?.expire(`the space ${JSON.stringify(source)} was removed`);
  }

  childRemoved(child: string): void {
    for (const fleet of this.#inUse()) fleet.childRemoved(child);
  }

  countedChanged(child: string): void {
    for (const fleet of this.#inUse()) fleet.countedChanged(child);
  }

  // ------------------------------------------------------------------------------------------------------- details

  /** Closes the fleets that nobody has used for some minutes. A change then costs nothing. */
  *#inUse(): Generator<Fleet> {
    for (const [source, fleet] of [...this.#fleets]) {
      if (fleet.isIdle()) this.#fleets.delete(source);
      else yield fleet;
    }
  }

  #fleet(source: string): Fleet {
    const known = this.#fleets.get(source);
    known?.asked();
    if (known) return known;
    for (const _ of this.#inUse());
    if (!this.#ports.kindsOf(source)) throw new BanyanError('NotFound', `this node has nothing of the space ${source}`);
    const fleet = new Fleet(source, {
      ...this.#ports,
      selectable: (of) => selectableOf(this.#ports.kindsOf(source), of),
    });
    this.#fleets.set(source, fleet);
    return fleet;
  }

  #answerPorts(asker: Asker): FleetWatchPorts {
    const { path, clock, defer, connection } = this.#ports;
    const ask: AskRelay = (child, question, signal) => this.#ports.ask(child, asker, question, signal);
    return {
      path,
      clock,
      ask,
      wallMs: () => clock.wallMs(),
      monotonicMs: () => clock.monotonicMs(),
      turn: () => new Promise<void>((resolve) => defer(resolve)),
      isConnected: (child) => connection(child).connected,
      kindOf: (source, of): Kind | undefined => this.kinds(source).byResource(of),
    };
  }

  #kindsOf(fleet: Fleet): KindsState {
    const known = this.#kinds.get(fleet);
    if (known) return known;
    const made: KindsState = { kinds: new FleetKinds(() => this.#ports.kindsOf(fleet.source), fleet.kinds) };
    this.#kinds.set(fleet, made);
    return made;
  }

  async *#kindsLines(question: KindsQuestion, asker: Asker, signal: AbortSignal): AsyncGenerator<FleetLine> {
    const fleet = this.#fleet(question.source);
    const { clock } = this.#ports;
    const state = this.#kindsOf(fleet);
    if (state.askedAtMs === undefined || clock.monotonicMs() - state.askedAtMs > kindsFreshMs) {
      state.askedAtMs = clock.monotonicMs();
      // All requests of a client that discovers kinds share the answers, so the questions do not end with the first request.
      state.learned = this.#learn(fleet, question, asker);
    }
    const wake = new Wake();
    void state.learned?.then(() => wake.wake());
    await wake.sleepFor(patienceBelow(question.patienceMs), clock, signal);
    const kinds = [...fleet.kinds.all()].flatMap(({ group, resource, kind, namespaced, versions }) =>
      versions.map((version) => ({ group, resource, kind, namespaced, version })),
    );
    yield { type: 'kinds', kinds };
    yield { type: 'end', more: false };
  }

  async #learn(fleet: Fleet, question: KindsQuestion, asker: Asker): Promise<void> {
    const { turn, ask } = this.#answerPorts(asker);
    const children = fleet.children();
    const relays = children.filter(({ role }) => role === 'relay');
    const below = { ...question, patienceMs: patienceBelow(question.patienceMs) };
    const answers = new RelayAnswers(relays, ({ name }, given) => ask(name, below, given));
    answers.widen();
    for (const child of children) {
      if (child.role === 'relay') await learnFrom(fleet, child, answers);
      else await fleet.open(child.name, turn);
    }
    answers.end();
  }
}

/** A relay that does not answer only hides the kinds that no other cluster has. A list of the fleet says that the relay is away. */
async function learnFrom(fleet: Fleet, relay: FleetChild, answers: RelayAnswers): Promise<void> {
  answers.widen();
  try {
    for await (const line of answers.of(relay)) {
      if (line.type === 'kinds') for (const kind of line.kinds) fleet.kinds.add(kind);
    }
  } catch (error) {
    if (!(error instanceof BanyanError)) throw error;
  }
}

function selectableOf(kinds: Kinds | undefined, of: GroupResource): readonly string[] {
  const kind = kinds?.byResource(of);
  return kind?.selectableFields(kind.storageVersion) ?? [];
}
