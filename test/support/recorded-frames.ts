/** The conversations of each version, as record-frames.ts has written them, and a link that plays one side of them again. */
import { readdirSync, readFileSync } from 'node:fs';
import type { PeerIdentity } from '../../core/identity/peer-identity.ts';
import type { VirtualClock } from '../../core/runtime/clock.ts';
import { decodeFrame } from '../../core/wire/codec/frames.ts';
import type { Frame } from '../../core/wire/generated/mesh.ts';
import type { Link, LinkEvents } from '../../core/wire/link.ts';

export interface RecordedFrame {
  readonly atMs: number;
  readonly from: 'child' | 'parent';
  readonly kind: string;
  readonly bytes: Buffer;
}

const root = 'test/fixtures/frames';
/** A content that is sent in pieces. */
export const large = 'x'.repeat(20_000);

export function recordings(): { version: string; name: string }[] {
  return readdirSync(root).flatMap((version) =>
    readdirSync(`${root}/${version}`).map((file) => ({ version, name: file.replace('.txt', '') })),
  );
}

/** The sessions of a recording. Each begins with its Hello, and its times count from the Hello. */
export function sessionsOf({ version, name }: { version: string; name: string }): RecordedFrame[][] {
  const sessions: RecordedFrame[][] = [];
  let startMs = 0;
  for (const line of readFileSync(`${root}/${version}/${name}.txt`, 'utf8').trim().split('\n')) {
    const [atMs, from, kind, hex] = line.split(' ');
    if (kind === 'hello') {
      startMs = Number(atMs);
      sessions.push([]);
    }
    const frame = {
      atMs: Number(atMs) - startMs,
      from: from as 'child' | 'parent',
      kind: kind!,
      bytes: Buffer.from(hex!, 'hex'),
    };
    sessions.at(-1)!.push(frame);
  }
  return sessions;
}

/** Keeps the frames that the tested machine sends. The machine receives the recorded frames of the other side at their recorded times. */
export class ReplayLink implements Link {
  readonly peer: PeerIdentity;
  readonly transport = 'replay';
  readonly sent: Frame[] = [];
  closed: string | undefined;

  constructor(peer: PeerIdentity) {
    this.peer = peer;
  }

  play(clock: VirtualClock, events: LinkEvents, frames: readonly RecordedFrame[]): void {
    for (const { atMs, bytes } of frames) {
      clock.after(atMs, () => {
        if (this.closed !== undefined) return;
        events.onBytes(bytes.length);
        events.onFrame(decodeFrame(bytes));
      });
    }
  }

  send(frame: Frame): boolean {
    this.sent.push(frame);
    return true;
  }

  close(reason: string): void {
    this.closed ??= reason;
  }

  queuedBytes(): number {
    return 0;
  }
}
