/**
 * Joins two hops of a stream at the node between them. Each hop keeps its own credits: bytes that the far side does not take are not taken from the near
 * side.
 */
import type { ByteStream, Offer, StreamHandler, StreamReset } from './stream.ts';

/** `openNext` asks the next hop. The offer is accepted when the next hop accepts. `refused`: the next hop refused, and the requester still waits. */
export function splice(
  offer: Offer,
  openNext: (handler: StreamHandler) => ByteStream,
  refused: (reset: StreamReset) => void,
): void {
  let near: ByteStream | undefined;
  let withdrawn = false;
  const next: ByteStream = openNext({
    onAccepted: () => {
      near = offer.accept(onward(() => next));
    },
    ...onward(() => near!),
    onClosed: (reset) => {
      if (!reset) return;
      if (near) near.reset(reset);
      else if (!withdrawn) refused(reset);
    },
  });
  offer.onGone((reset) => {
    withdrawn = true;
    next.reset(reset);
  });
}

/** Bytes from one end go to the other end. When they were sent there, they count as consumed here. */
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
