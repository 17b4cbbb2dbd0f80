/** What a session does with what its peer sends: batches, pieces and replies of a reconciliation into the store, and the word for them when they are durable. */
import { type AppliedChange, type Batch, bytesOfEntries, type ReconcileReply } from '../feed/feed.ts';
import { dropPieces, heldPieces, type Piece, storePiece } from '../feed/pieces.ts';
import { Reconciliation } from '../feed/reconcile.ts';
import { seedBytes } from '../feed/reconcile-prefixes.ts';
import { BanyanError } from '../runtime/errors.ts';
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

/** Of the session that it is a side of. */
export interface ConsumingSide {
  send(frame: Frame): void;
  /** Nothing happens if the session has ended by then. */
  afterFlush(then: () => void): void;
  reconciled(cursor: number): void;
}

export class Consuming {
  readonly #ports: ConsumingPorts;
  readonly #side: ConsumingSide;
  #reconciliation: Reconciliation | undefined;
  /** False: none are in the store. Most feeds never have any, and each batch would look for them. */
  #mayHavePieces = true;
  /** Of the credit that both sides give. */
  readonly #received = new Received(windowMaxBytes);
  #entries = 0;

  constructor(ports: ConsumingPorts, side: ConsumingSide) {
    this.#ports = ports;
    this.#side = side;
  }

  /** That came, with their contents. */
  get entries(): number {
    return this.#entries;
  }

  apply(batch: Batch): void {
    this.#entries += batch.entries.length;
    const bytes = bytesOfEntries(batch.entries);
    this.#received.came(bytes);
    this.#commit((t) => this.#ports.consumer.apply(t, batch));
    this.#side.afterFlush(() => {
      this.#received.told(bytes);
      this.#side.send(ackFrame(this.#consumes, batch.to, batch.epoch));
    });
  }

  applyAhead(batch: Batch, bytes: number): void {
    this.#entries += batch.entries.length;
    this.#received.came(bytes);
    this.#commit((t) => this.#ports.consumer.applyAhead(t, batch));
    this.#side.afterFlush(() => {
      this.#received.told(bytes);
      this.#side.send(creditFrame(this.#consumes, bytes));
    });
  }

  /** Given back when it is flushed, though a piece that a crash takes comes again: otherwise a fast line could fill memory with what waits for a slow disk. */
  storePiece(piece: Piece): void {
    const { store, consumer, fence } = this.#ports;
    this.#mayHavePieces = true;
    const bytes = piece.data.length;
    this.#received.came(bytes);
    const fits = store.write((t) => {
      fence(t);
      return storePiece(t, consumer.id, piece);
    });
    if (!fits) throw new BanyanError('Protocol', 'the pieces of a content are not what its hash says');
    this.#side.afterFlush(() => {
      this.#received.told(bytes);
      this.#side.send(creditFrame(this.#consumes, bytes));
    });
  }

  /** Of contents that changed while they were on their way, in this session or an earlier one. */
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

  /** A reply to what was asked last. */
  absorb(reply: ReconcileReply): void {
    const reconciliation = this.#reconciliation;
    // It still waits for its turn.
    if (!reconciliation) throw new BanyanError('Protocol', 'a reconcile reply before anything was asked');
    this.#entries += reply.entries.length;
    this.#commit((t) => reconciliation.absorb(t, reply));
    this.#askNext();
  }

  /** Its turn has come. */
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
      // They stand, also when what is done after the commit fails, on a disk that has just become full: whoever did not hear of them now would not before a restart.
      if (changes.length > 0) committed(changes);
    }
  }

  get #consumes(): Direction {
    return this.#ports.produces === 'down' ? 'up' : 'down';
  }
}
