/** Links that begin with Hello and Welcome, as those with a proof inside of these need to, and are free for the test after that. */
import { BanyanError } from '../../../core/runtime/errors.ts';
import { type Frame, Hello, Welcome } from '../../../core/wire/generated/mesh.ts';
import type { Accept, Dialer, Link, LinkEvents } from '../../../core/wire/link.ts';

const hello: Frame = { frame: { $case: 'hello', value: Hello.decode(new Uint8Array()) } };
const welcome: Frame = { frame: { $case: 'welcome', value: Welcome.decode(new Uint8Array()) } };

/** Answers the hello with a welcome, before any other event is passed on. */
export function withWelcome(accept: Accept): Accept {
  return (link) => {
    let events: LinkEvents | undefined;
    return {
      onFrame(frame) {
        if (events) return events.onFrame(frame);
        if (frame.frame?.$case !== 'hello') throw new Error('the first frame is no hello');
        // Frames that are sent on acceptance come after the welcome, which comes only then.
        const early: Frame[] = [];
        let isWelcomed = false;
        events = accept({
          peer: link.peer,
          transport: link.transport,
          expiry: link.expiry,
          send: (out) => (isWelcomed ? link.send(out) : early.push(out) > 0),
          close: (reason) => link.close(reason),
          queuedBytes: () => link.queuedBytes(),
        });
        isWelcomed = true;
        for (const out of [welcome, ...early]) link.send(out);
      },
      onBytes: (count) => events?.onBytes(count),
      onDrain: () => events?.onDrain(),
      onClose: (error) => events?.onClose(error),
      onStream(id, stream) {
        if (!events?.onStream) throw new BanyanError('NotFound', 'no streams');
        return events.onStream(id, stream);
      },
    };
  };
}

/** Sends hello and waits for the welcome; later frames are passed on when the dial has returned. */
export function helloDialer(dialer: Dialer): Dialer {
  return {
    async dial(events, timeoutMs) {
      let receiver: LinkEvents | undefined;
      let settle: (error?: Error) => void = () => {};
      const welcomed = new Promise<void>((resolve, reject) => {
        settle = (error) => (error ? reject(error) : resolve());
      });
      const link: Link = await dialer.dial(
        {
          onFrame(frame) {
            if (receiver) return receiver.onFrame(frame);
            if (frame.frame?.$case !== 'welcome') return settle(new Error('the first frame is no welcome'));
            settle();
            receiver = events;
          },
          onBytes: (count) => receiver?.onBytes(count),
          onDrain: () => receiver?.onDrain(),
          onClose: (error) =>
            receiver ? receiver.onClose(error) : settle(error ?? new Error('closed before the welcome')),
        },
        timeoutMs,
      );
      link.send(hello);
      await welcomed;
      return link;
    },
  };
}
