/** The end of connections of HTTP/2 on which nothing is asked: node:http2 keeps them as long as the other side does, which may be anybody. */
import type { ServerHttp2Session } from 'node:http2';
import type { Clock } from './clock.ts';

/** `session`: on which no stream has been told of yet. It is closed in order, once it has had no stream for `idleMs`. */
export function closeWhenIdle(session: ServerHttp2Session, idleMs: number, clock: Clock): void {
  const later = () => clock.after(idleMs, () => session.close());
  let open = 0;
  let timer = later();
  session.on('stream', (stream) => {
    open++;
    timer.stop();
    stream.once('close', () => {
      open--;
      if (open === 0) timer = later();
    });
  });
  session.once('close', () => timer.stop());
}
