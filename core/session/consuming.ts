/** The consuming side of a session: stores batches, pieces and replies of a reconciliation, and acknowledges them when they are durable. */
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

/** The functions of a session that the consuming side uses. */
export interface ConsumingSide {
  send(frame: Frame): void;
  /** Calls `then` after the next flush, unless the session has ended meanwhile. */
  afterFlush(then: () => void): void;
  reconciled(cursor: number): void;
}

export class Consuming {
  readonly #ports: ConsumingPorts;
  readonly #side: ConsumingSide;
  #reconciliation: Reconciliation | undefined;
  /** False: the store has no pieces of this feed. Most feeds never have pieces, and this flag saves a search for pieces after each batch. */
  #mayHavePieces = true;
  /** Checks that the peer keeps to the credit; both sides give the same credit. */
  readonly #received = new Received(windowMaxBytes);
  #entries = 0;

  constructor(ports: ConsumingPorts, side: ConsumingSide) {
    this.#ports = ports;
    this.#side = side;
  }

  /** Number of received entries, with their contents. */
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
   * Stores a piece. The credit is returned only after the flush. A crash would do no harm without this rule, because the peer sends a lost piece again. But
   * a fast line could fill the memory with pieces that wait for a slow disk.
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

  /** Drops the remaining pieces. They belong to contents that changed before all their pieces had arrived, in this session or an earlier one. */
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

  /** Processes the reply to the newest request. */
  absorb(reply: ReconcileReply): void {
    const reconciliation = this.#reconciliation;
    // Without a reconciliation, this side has sent no request: it still waits for its slot.
    if (!reconciliation) throw new BanyanError('Protocol', 'a reconcile reply before anything was asked');
    this.#entries += reply.entries.length;
    this.#commit((t) => reconciliation.absorb(t, reply));
    this.#askNext();
  }

  /** Begins the reconciliation, when it has its slot. */
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
      // The listener must get committed changes even if a later step fails, for example because the disk has just become full. Otherwise the listener would
      // not see these changes before a restart.
      if (changes.length > 0) committed(changes);
    }
  }

  get #consumes(): Direction {
    return this.#ports.produces === 'down' ? 'up' : 'down';
  }
}
