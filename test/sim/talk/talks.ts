/**
 * Byte streams in a world, and their invariants:
 *
 * - Bytes arrive in order, unaltered and once.
 * - Each end is notified of its end once.
 * - An end that is notified of a proper end has received everything that the other end wrote.
 * - No end has more than a window of bytes waiting.
 * - When all is quiet, no part of a stream is left.
 */
import { BanyanError } from '../../../core/runtime/errors.ts';
import { type Pinged, ping } from '../../../core/stream/ping.ts';
import type { StreamRouter } from '../../../core/stream/router.ts';
import { bulkWindowBytes, type Offer, streamWindowBytes } from '../../../core/stream/stream.ts';
import type { Host } from '../host.ts';
import type { PlannedTalk } from '../plan/talk.ts';
import type { World } from '../world.ts';
import { Party } from './party.ts';
import { type Asked, mayBeFromLiar } from './way.ts';

export const simKind = 'sim';
const lateMs = 700;
/** After this time, the deadlines of all hops are over. */
const tooLateMs = 1_000;

export class Talks {
  readonly #world: World;
  readonly #open = new Set<Party>();
  /** The total number of bytes that each end has written, when it has ended. Keyed by the number of the talk. */
  readonly #written = new Map<string, number>();
  /** Keyed by the number of the talk. */
  readonly #asked = new Map<number, Asked>();
  readonly name = 'bytes of a stream come in order, unaltered and once';

  constructor(world: World) {
    this.#world = world;
  }

  /** Lets a new process accept streams. */
  serve(host: Host, router: StreamRouter): void {
    router.register(simKind, (offer) => this.#offered(host, offer));
  }

  ask(host: Host, to: string, talk: PlannedTalk): void {
    const { streams } = host;
    if (!streams) return;
    this.#asked.set(talk.number, { from: host.path, to, atMs: this.#world.nowMs });
    if (talk.kind === 'ping') return this.#ping(host, streams, to, talk);
    const party = this.#party(host, talk, 'asker');
    const { kind, bulk, deadlineMs, isAdministrator } = talk;
    const request = {
      path: to,
      kind,
      bulk,
      deadlineMs,
      header: Buffer.from(JSON.stringify(talk)),
      user: 'somebody',
      groups: groupsOf(isAdministrator),
    };
    host.simProcess.run(
      () => party.holds(streams.open(request, party)),
      (error) => (error instanceof BanyanError ? this.#open.delete(party) : host.failed(error)),
    );
  }

  /** Returns a message that names a talk that is not over yet. */
  unfinished(): string | undefined {
    for (const party of this.#open) if (party.simProcess.alive) return `${party.title} has a stream that does not end`;
    for (const host of this.#world.hosts.values()) {
      const open = host.streamsOpen;
      if (host.simProcess.alive && open > 0) return `${host.title} has ${open} ends of streams that nobody holds`;
    }
    return undefined;
  }

  /** Asks with the product's ping. Every talk ends, whatever its result: when all is quiet, a check makes sure that no stream is left. */
  #ping(host: Host, router: StreamRouter, path: string, talk: PlannedTalk): void {
    const { simProcess, title } = host;
    const { deadlineMs: timeoutMs, isAdministrator, there } = talk;
    const request = { path, user: 'somebody', groups: groupsOf(isAdministrator), timeoutMs, bytes: there.bytes };
    const asked = () => ping({ router, clock: host.clock, at: host.path }, request);
    const note = (text: string) => simProcess.alive && this.#world.note(`ping ${talk.number} of ${title}: ${text}`);
    const answered = ({ path: from, echo }: Pinged) => {
      note(`${from} is there, ${echo?.bytes ?? 0} bytes came back`);
      if (from !== path && !this.#mayBeLied(talk))
        this.#world.violation(this.name, `a ping of ${path} was answered by ${from}`);
    };
    const failed = (error: Error) => {
      if (!(error instanceof BanyanError) && error.name !== 'Crash') host.failed(error);
      else note(error.message);
    };
    simProcess.run(
      () => void asked().then(answered, failed),
      (error) => host.failed(error),
    );
  }

  #offered(host: Host, offer: Offer): void {
    const talk = JSON.parse(Buffer.from(offer.request.header).toString()) as PlannedTalk;
    const take = () => {
      const party = this.#party(host, talk, 'taker');
      party.holds(offer.accept(party));
      party.onAccepted();
    };
    let isGone = false;
    offer.onGone(() => {
      isGone = true;
    });
    switch (talk.taken) {
      case 'at-once':
        return take();
      case 'late':
        return this.#after(host, lateMs, () => {
          if (!isGone) take();
        });
      case 'too-late':
        return this.#after(host, talk.deadlineMs + tooLateMs, take);
      case 'refused':
        return offer.refuse({ code: 'NotFound', message: 'it is not wanted', at: host.path });
      case 'never':
        return;
    }
  }

  #party(host: Host, talk: PlannedTalk, role: 'asker' | 'taker'): Party {
    const party: Party = new Party(host, talk, role, {
      after: (ms, act) => this.#after(host, ms, act),
      wrote: (bytes) => this.#written.set(`${talk.number} ${role}`, bytes),
      writtenByOther: () => this.#written.get(`${talk.number} ${role === 'asker' ? 'taker' : 'asker'}`),
      wrong: (what) => this.#world.violation(this.name, `${party.title}: ${what}`),
      over: (why) => {
        this.#open.delete(party);
        this.#world.note(`${party.title} is over: ${why}`);
      },
      mayBeLied: () => this.#mayBeLied(talk),
      windowBytes: talk.bulk ? bulkWindowBytes : streamWindowBytes,
    });
    this.#open.add(party);
    return party;
  }

  #mayBeLied({ number }: PlannedTalk): boolean {
    const asked = this.#asked.get(number);
    return asked !== undefined && mayBeFromLiar(this.#world, asked);
  }

  #after(host: Host, ms: number, act: () => void): void {
    const { simProcess } = host;
    this.#world.clock.after(ms, () => void simProcess.run(act, (error) => host.failed(error)));
  }
}

function groupsOf(isAdministrator: boolean): string[] {
  return isAdministrator ? ['system:masters'] : ['visitors'];
}
