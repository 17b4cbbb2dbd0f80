/**
 * Joins two hops of a stream at the node between them. Each hop has its own credits. The node reports bytes of one side as consumed only after it has sent them
 * to the other side. So a slow receiver slows down the sender, and bytes do not collect at this node.
 */
import type { ByteStream, Offer, StreamHandler, StreamReset } from './stream.ts';

/**
 * `openNext` asks the next hop. When the next hop accepts, this function accepts the offer. `refused` is called if the next hop refuses while the requester
 * still waits.
 */
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

/** A handler for one end: passes its bytes to the other end. When the other end has sent them, they count as consumed at this end. */
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
