/** Makes the lines of a list: the copies at this node's agents and the answers of its child relays, in the order of paths. */

import type { Kind } from '../../core/apiserver/space.ts';
import { childPath, comparePaths, isAtOrBelow } from '../../core/identity/node-path.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { type Copy, comparePlaces } from './agent-copies.ts';
import { shownObject } from './copy.ts';
import { type Fleet, type FleetChild, fromRelay, toRelay } from './fleet.ts';
import type { AskRelay } from './fleet-ask.ts';
import type { FleetLine, Item } from './fleet-lines.ts';
import { type ListQuestion, type Place, patienceBelow } from './fleet-question.ts';
import { type ItemForm, itemOf } from './item-form.ts';
import { expired, type Position } from './positions.ts';
import { RelayAnswers } from './relay-answers.ts';
import { type CopySelection, copySelection } from './selection.ts';

export interface AnswerPorts {
  /** The path of this node. */
  readonly path: string;
  readonly ask: AskRelay;
  wallMs(): number;
  monotonicMs(): number;
  /** Lets the other work of the process go on. Returns in a later turn of the event loop. */
  turn(): Promise<void>;
  /** The kind, if this node has a definition of it. */
  kindOf(source: string, of: { readonly group: string; readonly resource: string }): Kind | undefined;
}

/** A node that finds no copy for this long says that it is busy: much less than the patience of any node above. */
const busyEveryMs = 500;
/** Copies that are made in one turn: about 3 ms with objects of 3 KB. */
const copiesPerTurn = 25;

export async function* listLines(
  fleet: Fleet,
  question: ListQuestion,
  ports: AnswerPorts,
  signal: AbortSignal,
): AsyncGenerator<FleetLine> {
  if (question.at !== undefined) fleet.checkPath(question.at);
  const { number, position } = positionOf(fleet, question);
  yield { type: 'begin', position: number };
  const list = new List(fleet, question, ports, position);
  try {
    yield* list.lines(signal);
  } finally {
    fleet.positions.recount(number);
  }
}

function positionOf(fleet: Fleet, { position: number }: ListQuestion): { number: string; position: Position } {
  if (number === undefined) {
    const position: Position = { local: fleet.log.revision, read: new Map(), relays: new Map() };
    return { number: fleet.positions.keep(position), position };
  }
  const position = fleet.positions.get(number);
  if (position.local !== undefined && fleet.log.after(position.local) === 'expired')
    throw expired(`more has changed since the resourceVersion ${number} than this node keeps`);
  return { number, position };
}

class List {
  readonly #fleet: Fleet;
  readonly #question: ListQuestion;
  readonly #ports: AnswerPorts;
  readonly #position: Position;
  readonly #selection: CopySelection;
  readonly #form: ItemForm;
  /** Copies that the page may still have. */
  #left: number;
  #busyAtMs: number;

  constructor(fleet: Fleet, question: ListQuestion, ports: AnswerPorts, position: Position) {
    this.#fleet = fleet;
    this.#question = question;
    this.#ports = ports;
    this.#position = position;
    this.#selection = copySelection(question);
    const { kind, form, source, limit } = question;
    this.#form = { kind, form, known: ports.kindOf(source, kind), nowMs: ports.wallMs() };
    this.#busyAtMs = ports.monotonicMs();
    this.#left = limit === 0 ? Number.POSITIVE_INFINITY : limit;
  }

  async *lines(signal: AbortSignal): AsyncGenerator<FleetLine> {
    const children = this.#childrenLeft();
    const relays = children.filter(({ role }) => role === 'relay');
    const answers = new RelayAnswers(relays, (relay, given) => this.#ask(relay, given), signal);
    try {
      for (const [index, child] of children.entries()) {
        if (signal.aborted) return;
        const isLast = index + 1 === children.length;
        const end = yield* child.role === 'relay' ? this.#ofRelay(child, answers) : this.#ofAgent(child);
        if (this.#left > 0) continue;
        const remaining = isLast && end.remaining !== undefined ? { remaining: end.remaining } : {};
        yield { type: 'end', more: end.more || !isLast, ...remaining };
        return;
      }
      yield { type: 'end', more: false, remaining: 0 };
    } finally {
      answers.end();
    }
  }

  #childrenLeft(): readonly FleetChild[] {
    const { at, paths, after } = this.#question;
    const towards = this.#fleet.childrenTowards(at, paths);
    if (!after) return towards;
    return towards.filter(({ path }) => isAtOrBelow(after.path, path) || comparePaths(path, after.path) > 0);
  }

  // -------------------------------------------------------------------------------------------------------- agents

  async *#ofAgent(child: FleetChild): AsyncGenerator<FleetLine, { more: boolean; remaining?: number }> {
    const index = await this.#fleet.open(child.name, this.#ports.turn);
    if (index?.openedAt === undefined) return { more: false };
    const { local = 0, read } = this.#position;
    if (index.openedAt > local) read.set(child.name, index.openedAt);
    const after = this.#question.after?.path === child.path ? this.#question.after : undefined;
    const copies = index.ofKind(this.#question.kind);
    const selected = this.#selected(copies, after);
    if (selected.length === 0 && this.#isBusy()) yield { type: 'busy' };
    let isStale = false;
    for (let found = selected.splice(0, this.#turnSize()); found.length > 0; ) {
      for (const item of this.#items(child, found)) {
        const silentMs = this.#fleet.silentMs(child.name);
        if (!isStale && silentMs !== undefined) yield { type: 'stale', stale: { path: child.path, silentMs } };
        isStale = true;
        this.#left -= 1;
        yield { type: 'item', item };
      }
      if (this.#left === 0) break;
      await this.#ports.turn();
      found = selected.splice(0, this.#turnSize());
    }
    return { more: selected.length > 0, remaining: selected.length };
  }

  #isBusy(): boolean {
    const nowMs = this.#ports.monotonicMs();
    const isBusy = nowMs - this.#busyAtMs >= busyEveryMs;
    if (isBusy) this.#busyAtMs = nowMs;
    return isBusy;
  }

  #turnSize(): number {
    return Math.min(copiesPerTurn, this.#left);
  }

  #selected(copies: readonly Copy[], after: Place | undefined): Copy[] {
    const isAfter = (copy: Copy) => after === undefined || comparePlaces(copy.key, after) > 0;
    return copies.filter((copy) => isAfter(copy) && this.#selection.matches(copy.facet));
  }

  *#items(child: FleetChild, copies: readonly Copy[]): Generator<Item> {
    const sinceMs = this.#fleet.staleSinceMs(child.name);
    const path = childPath(this.#ports.path, child.name);
    const rows = this.#fleet.read(
      child.name,
      copies.map(({ key }) => key),
    );
    for (const row of rows) {
      if (!row) continue;
      const { namespace, name } = row.key;
      yield itemOf(shownObject(row, path, sinceMs), { path: child.path, namespace, name }, row.revision, this.#form);
    }
  }

  // -------------------------------------------------------------------------------------------------------- relays

  #ask(relay: FleetChild, signal: AbortSignal): AsyncIterable<FleetLine> {
    const { path } = this.#ports;
    const { after, position: _own, limit, patienceMs, ...question } = this.#question;
    const position = this.#position.relays.get(relay.name);
    const isInside = after !== undefined && isAtOrBelow(after.path, relay.path);
    return this.#ports.ask(
      relay.name,
      {
        ...question,
        limit: limit === 0 ? 0 : this.#left,
        patienceMs: patienceBelow(patienceMs),
        ...(position === undefined ? {} : { position }),
        ...(isInside ? { after: { ...after, path: toRelay(path, relay, after.path) } } : {}),
      },
      signal,
    );
  }

  async *#ofRelay(
    relay: FleetChild,
    answers: RelayAnswers,
  ): AsyncGenerator<FleetLine, { more: boolean; remaining?: number }> {
    const { relays } = this.#position;
    const { path } = this.#ports;
    try {
      for await (const line of answers.of(relay)) {
        if (line.type === 'begin') relays.set(relay.name, line.position);
        else if (line.type === 'end') {
          if (!line.more) answers.widen();
          return line;
        } else if (line.type === 'item') {
          // The relay was asked while the page had more room.
          if (this.#left === 0) return { more: true };
          this.#left -= 1;
          yield { ...line, item: { ...line.item, path: fromRelay(path, relay, line.item.path) } };
        } else yield line;
      }
      throw new BanyanError('Unavailable', 'its answer ended too early');
    } catch (error) {
      if (!(error instanceof BanyanError) || mustBeTold(error, this.#question)) throw error;
      // A watch from this list begins at the relay with everything that the relay has, because the list does not have all of it.
      relays.delete(relay.name);
      answers.widen();
      yield { type: 'away', away: this.#fleet.awayOf(relay, error.message) };
      return { more: false };
    }
  }
}

/**
 * Errors that the client has to know, because the answer would be wrong without the relay: the list is too old, the path of the question does not exist, or a
 * moment later the relay answers.
 */
export function mustBeTold({ code }: BanyanError, { at }: { readonly at?: string | undefined }): boolean {
  return (
    code === 'Expired' ||
    code === 'TooManyRequests' ||
    code === 'BadRequest' ||
    (code === 'NotFound' && at !== undefined)
  );
}
