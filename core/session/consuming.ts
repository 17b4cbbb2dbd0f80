/** The consuming side of a session: writes batches, pieces and replies of a reconciliation into the store, and acknowledges them when they are durable. */
import { type AppliedChange, type Batch, bytesOfEntries, type ReconcileReply } from '../feed/feed.ts';
import { dropPieces, heldPieces, type Piece, storePiece } from '../feed/pieces.ts';
import { Reconciliation } from '../feed/reconcile.ts';
import { seedBytes } from '../feed/reconcile-prefixes.ts';
import { BanyanError } from '../runtime/errors.ts';
import { hex } from '../store/bytes.ts';
import type { Transaction } from '../store/store.ts';
import type { Frame } from '../wire/generated/mesh.ts';
import { windowMaxBytes } from './flow.ts';
import { Received } from './received.ts';
import type { RunnerPorts } from './runner-ports.ts';
import { ackFrame, creditFrame, type Direction, requestFrame } from './wire-frames.ts';

type ConsumingPorts = Pick<
  RunnerPorts,
  'store' | 'consumer' | 'fence' | 'applied' | 'committed' | 'random' | 'produces'
>;

/** The part of a session that the consuming side uses. */
export interface ConsumingSide {
  send(frame: Frame): void;
  /** Does not call `then` if the session has ended by then. */
  afterFlush(then: () => void): void;
  reconciled(cursor: number): void;
}

export class Consuming {
  readonly #ports: ConsumingPorts;
  readonly #side: ConsumingSide;
  #reconciliation: Reconciliation | undefined;
  /** False: the store has no pieces of this feed. Most feeds never have any, and otherwise each batch would look for them. */
  #mayHavePieces = true;
  /** Counts against the credit that both sides give. */
  readonly #received = new Received(windowMaxBytes);
  #entries = 0;

  constructor(ports: ConsumingPorts, side: ConsumingSide) {
    this.#ports = ports;
    this.#side = side;
  }

  /** Number of entries received with their contents. */
  get entries(): number {
    return this.#entries;
  }

  apply(batch: Batch): void {
    this.#entries += batch.entries.length;
    const bytes = bytesOfEntries(batch.entries);
    this.#received.arrived(bytes);
    this.#commit((t) => this.#ports.consumer.apply(t, batch));
    this.#side.afterFlush(() => {
      this.#received.acknowledged(bytes);
      this.#side.send(ackFrame(this.#consumes, batch.to, batch.epoch));
    });
  }

  applyAhead(batch: Batch, bytes: number): void {
    this.#entries += batch.entries.length;
    this.#received.arrived(bytes);
    this.#commit((t) => this.#ports.consumer.applyAhead(t, batch));
    this.#side.afterFlush(() => {
      this.#received.acknowledged(bytes);
      this.#side.send(creditFrame(this.#consumes, bytes));
    });
  }

  /**
   * The credit is returned after the flush, although the peer would send a piece again that a crash loses. Otherwise a fast line could fill the memory with
   * pieces that wait for a slow disk.
   */
  storePiece(piece: Piece): void {
    const { store, consumer, fence } = this.#ports;
    this.#mayHavePieces = true;
    const bytes = piece.data.length;
    this.#received.arrived(bytes);
    const fits = store.write((t) => {
      fence(t);
      return storePiece(t, consumer.id, piece);
    });
    if (!fits) {
      const content = hex(piece.contentHash);
      throw new BanyanError('Protocol', `the pieces of the content ${content} do not have this hash: they are dropped`);
    }
    this.#side.afterFlush(() => {
      this.#received.acknowledged(bytes);
      this.#side.send(creditFrame(this.#consumes, bytes));
    });
  }

  /** Drops pieces of contents that changed while they were on their way, in this session or an earlier one. */
  dropPieces(): void {
    const { store, consumer, fence } = this.#ports;
    if (!this.#mayHavePieces) return;
    this.#mayHavePieces = false;
    if (store.read((reader) => heldPieces(reader, consumer.id)).length === 0) return;
    store.write((t) => {
      fence(t);
      dropPieces(t, consumer.id);
    });
  }

  /** Takes the reply to the newest request. */
  absorb(reply: ReconcileReply): void {
    const reconciliation = this.#reconciliation;
    // The reconciliation still waits for its slot, so nothing was requested.
    if (!reconciliation) throw new BanyanError('Protocol', 'a reconcile reply before anything was asked');
    this.#entries += reply.entries.length;
    this.#commit((t) => reconciliation.absorb(t, reply));
    this.#askNext();
  }

  /** The reconciliation has its slot. */
  reconcile(): void {
    const { store, consumer, random } = this.#ports;
    const seed = random.bytes(seedBytes);
    this.#reconciliation = store.read((reader) => new Reconciliation(reader, consumer, seed));
    this.#askNext();
  }

  #askNext(): void {
    const request = this.#reconciliation?.next();
    if (request) {
      this.#side.send(requestFrame(this.#consumes, request));
      return;
    }
    const reconciliation = this.#reconciliation!;
    this.#reconciliation = undefined;
    const { store, consumer } = this.#ports;
    this.#commit((t) => reconciliation.finish(t));
    const { cursor, epoch } = store.read((reader) => consumer.resume(reader));
    this.#side.afterFlush(() => this.#side.send(ackFrame(this.#consumes, cursor, epoch)));
    this.#side.reconciled(cursor);
  }

  #commit(work: (t: Transaction) => AppliedChange[]): void {
    const { store, fence, applied, committed } = this.#ports;
    let changes: AppliedChange[] = [];
    try {
      store.write((t) => {
        fence(t);
        const done = work(t);
        t.afterCommit(() => {
          changes = done;
        });
        applied(t, done);
      });
    } finally {
      // The changes are committed, even if a step after the commit fails, as on a disk that has just become full. A listener that does not get the changes
      // now would not get them before a restart.
      if (changes.length > 0) committed(changes);
    }
  }

  get #consumes(): Direction {
    return this.#ports.produces === 'down' ? 'up' : 'down';
  }
}
