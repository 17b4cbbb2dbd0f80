/** Joins two hops of a stream at a node in between. Each hop keeps its own credits: what the far side does not take is not taken from the near one. */
import type { ByteStream, Offer, StreamHandler, StreamReset } from './stream.ts';

/** `openNext` asks the next hop; the offer is taken when that is. `refused`: that was not, and whoever asked still waits. */
export function splice(
  offer: Offer,
  openNext: (handler: StreamHandler) => ByteStream,
  refused: (reset: StreamReset) => void,
): void {
  let near: ByteStream | undefined;
  let gone = false;
  const next: ByteStream = openNext({
    onAccepted: () => {
      near = offer.accept(onward(() => next));
    },
    ...onward(() => near!),
    onClosed: (reset) => {
      if (!reset) return;
      if (near) near.reset(reset);
      else if (!gone) refused(reset);
    },
  });
  offer.onGone((reset) => {
    gone = true;
    next.reset(reset);
  });
}

/** What comes goes to the other end, and what has left there is taken here. */
function onward(other: () => ByteStream): StreamHandler {
  return {
    onData: (bytes) => other().write(bytes),
    onWritten: (bytes) => other().consumed(bytes),
    onEnd: () => other().end(),
    onClosed: (reset) => {
      if (reset) other().reset(reset);
    },
  };
}
