/**
 * Makes the lines of a watch: the changes at this node's agents, and the events of its child relays. Each event has a position from which a client can continue.
 * A relay that goes away ends nothing: its changes come when it is back. If a relay, or this node, does not know any more what the client has, the watch ends
 * with Expired, and the client lists again.
 */
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { BanyanError } from '../../core/runtime/errors.ts';
import { type Fleet, type FleetChild, fromRelay } from './fleet.ts';
import type { FleetLine } from './fleet-lines.ts';
import { patienceBelow, type WatchQuestion } from './fleet-question.ts';
import { FollowedRelays } from './followed-relays.ts';
import { type AnswerPorts, mustBeTold } from './list.ts';
import { LocalChanges } from './local-changes.ts';
import { copyOf, type Position } from './positions.ts';
import { PartSignal, Wake } from './signals.ts';

/** A watch without events sends its position this often: so the node above sees that the watch lives, and keeps a position that does not become too old. */
export const positionEveryMs = 15_000;

export interface FleetWatchPorts extends AnswerPorts {
  readonly clock: Clock;
  isConnected(child: string): boolean;
}

export async function* watchLines(
  fleet: Fleet,
  question: WatchQuestion,
  ports: FleetWatchPorts,
  signal: AbortSignal,
): AsyncGenerator<FleetLine> {
  if (question.at !== undefined) fleet.checkPath(question.at);
  const { position } = question;
  const begin = position === undefined ? { read: new Map(), relays: new Map() } : copyOf(fleet.positions.get(position));
  const watch = new Watch(fleet, question, ports, begin, signal);
  try {
    yield* watch.lines();
  } finally {
    watch.end();
  }
}

class Watch {
  readonly #fleet: Fleet;
  readonly #question: WatchQuestion;
  readonly #ports: FleetWatchPorts;
  readonly #begin: Position;
  /** Ends the questions to relays when the watch ends by itself. */
  readonly #part: PartSignal;
  readonly #wake = new Wake();
  readonly #local: LocalChanges;
  readonly #relays: FollowedRelays;
  readonly #places: Map<string, string>;
  readonly #unsubscribe: () => void;
  #timer: Timer | undefined;
  #isPositionDue = false;
  #haveChildrenChanged = false;
  #error: BanyanError | undefined;

  constructor(fleet: Fleet, question: WatchQuestion, ports: FleetWatchPorts, begin: Position, signal: AbortSignal) {
    this.#fleet = fleet;
    this.#question = question;
    this.#ports = ports;
    this.#begin = begin;
    this.#part = new PartSignal(signal);
    this.#places = new Map(begin.relays);
    const changed = () => this.#wake.wake();
    this.#local = new LocalChanges(fleet, question, ports);
    this.#relays = new FollowedRelays(
      {
        clock: ports.clock,
        ask: (relay, given) => this.#ask(relay, given),
        isConnected: (relay) => ports.isConnected(relay),
        mustEnd: (error) => error.code !== 'TooManyRequests' && mustBeTold(error, question),
        changed,
      },
      this.#part.signal,
    );
    this.#unsubscribe = fleet.subscribe({
      changed: (entry) => {
        this.#local.changed(entry);
        changed();
      },
      childrenChanged: () => {
        this.#haveChildrenChanged = true;
        changed();
      },
      expired: (error) => {
        this.#error = error;
        changed();
      },
    });
  }

  async *lines(): AsyncGenerator<FleetLine> {
    const { signal } = this.#part;
    this.#schedulePosition();
    yield { type: 'begin', position: this.#fleet.positions.keep(this.#begin) };
    await this.#local.start(this.#begin);
    this.#followRelays();
    let isComplete = false;
    while (!signal.aborted) {
      const error = this.#error ?? this.#relays.error;
      if (error) throw error;
      const hadChildren = this.#haveChildrenChanged;
      if (hadChildren) await this.#lookAtChildren();
      const [local, relay] = [this.#localLine(), this.#relays.take()];
      if (local) yield local;
      if (relay) yield* this.#relayLines(relay.relay, relay.line);
      if (!isComplete && this.#local.isComplete && this.#relays.isComplete && this.#local.isEmpty && !relay) {
        isComplete = true;
        yield { type: 'position', position: this.#keep(), isComplete };
      }
      if (this.#isPositionDue) yield this.#positionLine();
      if (this.#local.isEmpty && !relay && !this.#isPositionDue) await this.#wake.sleep(signal);
    }
  }

  end(): void {
    this.#unsubscribe();
    this.#timer?.stop();
    this.#part.end();
  }

  #localLine(): FleetLine | undefined {
    while (!this.#local.isEmpty) {
      const event = this.#local.next();
      if (event) return { type: 'event', ...event, position: this.#keep() };
    }
    return undefined;
  }

  *#relayLines(relay: FleetChild, line: FleetLine): Generator<FleetLine> {
    if (line.type === 'away' || line.type === 'stale') yield line;
    if (line.type !== 'begin' && line.type !== 'position' && line.type !== 'event') return;
    this.#places.set(relay.name, line.position);
    if (line.type !== 'event') return;
    const item = { ...line.item, path: fromRelay(this.#ports.path, relay, line.item.path) };
    yield { ...line, item, position: this.#keep() };
  }

  #positionLine(): FleetLine {
    this.#isPositionDue = false;
    this.#schedulePosition();
    return { type: 'position', position: this.#keep() };
  }

  #schedulePosition(): void {
    this.#timer = this.#ports.clock.after(positionEveryMs, () => {
      this.#isPositionDue = true;
      this.#wake.wake();
    });
  }

  #keep(): string {
    return this.#fleet.positions.keep({ ...this.#local.position, relays: new Map(this.#places) });
  }

  async #lookAtChildren(): Promise<void> {
    this.#haveChildrenChanged = false;
    await this.#local.childrenChanged();
    this.#followRelays();
  }

  #followRelays(): void {
    const { at, paths } = this.#question;
    this.#relays.follow(this.#fleet.childrenTowards(at, paths).filter(({ role }) => role === 'relay'));
  }

  #ask(relay: FleetChild, signal: AbortSignal): AsyncIterable<FleetLine> {
    const { position: _own, patienceMs, ...question } = this.#question;
    const position = this.#places.get(relay.name);
    const below = {
      ...question,
      patienceMs: patienceBelow(patienceMs),
      ...(position === undefined ? {} : { position }),
    };
    return this.#ports.ask(relay.name, below, signal);
  }
}
