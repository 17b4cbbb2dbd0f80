/** The makers of links, for the suite that runs on each of them. */
import { systemClock } from '../../../core/runtime/clock.ts';
import type { Accept, Dialer, PeerIdentity } from '../../../core/wire/link.ts';
import { memoryDialer } from '../../../core/wire/memory/memory-link.ts';

export const parent: PeerIdentity = { path: 'eu', role: 'relay' };
export const child: PeerIdentity = { path: 'eu:kid', role: 'agent' };

/** One parent, and one child that dials it as often as it likes. Disposed of, nothing is told any more; twice does no harm. */
export interface TestLine extends AsyncDisposable {
  readonly dialer: Dialer;
  /** Breaks every connection. */
  cut(): void;
}

export interface LinkMaker {
  readonly name: string;
  open(accept: Accept): Promise<TestLine>;
}

export const makers: readonly LinkMaker[] = [{ name: 'memory', open: openMemory }];

async function openMemory(accept: Accept): Promise<TestLine> {
  const network = { clock: systemClock, delayMs: 0, bufferBytes: 256 * 1024, isCut: () => false };
  const dialer = memoryDialer(network, child, parent, accept);
  return {
    dialer,
    cut: () => dialer.cut(),
    async [Symbol.asyncDispose]() {
      dialer.cut();
      // After everything that is under way.
      await new Promise<void>((resolve) => systemClock.after(0, resolve));
    },
  };
}
