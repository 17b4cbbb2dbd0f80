/** One end of a talk. It writes its bytes, reads at its own speed, and compares the received bytes with the bytes that the other end had to write. */
import type { ByteStream, StreamHandler, StreamReset } from '../../../core/stream/stream.ts';
import type { Host } from '../host.ts';
import type { PlannedTalk, TalkSide } from '../plan/talk.ts';
import type { SimProcess } from '../sim-process.ts';

export interface PartyPorts {
  after(ms: number, act: () => void): void;
  /** Called when all bytes and the end after them have been written. */
  wrote(bytes: number): void;
  /** The number of bytes that the other end has written. Undefined: the other end has not ended this direction yet. */
  writtenByOther(): number | undefined;
  /** Whether the received bytes may be from a liar. */
  mayBeLied(): boolean;
  wrong(what: string): void;
  over(why: string): void;
  readonly windowBytes: number;
}

/** The number of bytes that are written to the stream at once. */
const chunkBytes = 50_000;

export class Party implements StreamHandler {
  readonly simProcess: SimProcess;
  readonly title: string;
  readonly #talk: PlannedTalk;
  readonly #role: 'asker' | 'taker';
  readonly #ports: PartyPorts;
  #stream: ByteStream | undefined;
  #accepted = false;
  #written = 0;
  #queued = 0;
  #received = 0;
  #unread = 0;
  #otherEnded = false;
  #closed = false;

  constructor(host: Host, talk: PlannedTalk, role: 'asker' | 'taker', ports: PartyPorts) {
    this.simProcess = host.simProcess;
    this.title = `talk ${talk.number} of ${host.title} as ${role}`;
    this.#talk = talk;
    this.#role = role;
    this.#ports = ports;
  }

  holds(stream: ByteStream): void {
    this.#stream = stream;
    const { cancelled } = this.#talk;
    if (cancelled?.by !== this.#role) return;
    this.#ports.after(cancelled.afterMs, () => {
      if (!this.#closed) stream.reset({ code: 'Cancelled', message: 'enough', at: '' });
    });
  }

  onAccepted(): void {
    if (this.#accepted) this.#ports.wrong('it was accepted twice');
    this.#accepted = true;
    this.#write();
  }

  onData(bytes: Uint8Array): void {
    if (this.#otherEnded || this.#closed) this.#ports.wrong('bytes came behind the end');
    if (!this.#isExpected(bytes)) this.#ports.wrong(`at byte ${this.#received} other bytes came than were written`);
    this.#received += bytes.length;
    this.#unread += bytes.length;
    if (this.#unread > this.#ports.windowBytes) this.#ports.wrong(`${this.#unread} bytes are unread`);
    const read = () => {
      this.#unread -= bytes.length;
      this.#stream!.consumed(bytes.length);
    };
    const { readMs } = this.#reads;
    if (readMs === 0) read();
    else this.#ports.after(readMs, read);
  }

  onWritten(bytes: number): void {
    this.#queued -= bytes;
    this.#write();
  }

  onEnd(): void {
    if (this.#otherEnded) this.#ports.wrong('the other end ended twice');
    this.#otherEnded = true;
  }

  onClosed(reset?: StreamReset): void {
    if (this.#closed) this.#ports.wrong('it was closed twice');
    this.#closed = true;
    if (!reset) this.#endedInOrder();
    this.#ports.over(reset ? `${reset.code} at ${reset.at || 'the center'}: ${reset.message}` : 'in order');
  }

  #endedInOrder(): void {
    if (this.#written < this.#writes.bytes) this.#ports.wrong(`it ended in order after ${this.#written} written bytes`);
    if (!this.#otherEnded) this.#ports.wrong('it ended in order before the other end had');
    // The product's own endpoints write other bytes.
    const other = this.#talk.kind === 'sim' && !this.#ports.mayBeLied() ? this.#ports.writtenByOther() : this.#received;
    if (other !== this.#received) this.#ports.wrong(`it ended in order with ${this.#received} bytes of ${other}`);
  }

  #write(): void {
    const { bytes } = this.#writes;
    while (!this.#closed && this.#queued < chunkBytes && this.#written < bytes) {
      const chunk = this.#bytesOf(this.#role, this.#written, Math.min(chunkBytes, bytes - this.#written));
      this.#written += chunk.length;
      this.#queued += chunk.length;
      this.#stream!.write(chunk);
    }
    if (this.#closed || this.#written < bytes || this.#hasEnded) return;
    this.#hasEnded = true;
    this.#ports.wrote(bytes);
    this.#stream!.end();
  }

  #hasEnded = false;

  get #writes(): TalkSide {
    return this.#role === 'asker' ? this.#talk.there : this.#talk.back;
  }

  get #reads(): TalkSide {
    return this.#role === 'asker' ? this.#talk.back : this.#talk.there;
  }

  #isExpected(bytes: Uint8Array): boolean {
    if (this.#talk.kind === 'health') return true;
    const writer = this.#talk.kind === 'echo' ? 'asker' : this.#role === 'asker' ? 'taker' : 'asker';
    return this.#bytesOf(writer, this.#received, bytes.length).equals(bytes) || this.#ports.mayBeLied();
  }

  /** The bytes that an end has to write. Around each position, they differ for every direction of every talk. */
  #bytesOf(writer: 'asker' | 'taker', from: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    const salt = this.#talk.number * 13 + (writer === 'asker' ? 0 : 101);
    for (let i = 0; i < length; i++) bytes[i] = ((from + i) * 31 + ((from + i) >> 8) * 7 + salt) & 0xff;
    return bytes;
  }
}
