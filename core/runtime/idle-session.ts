/** Closes idle HTTP/2 connections. node:http2 keeps a connection as long as the other side does, and the other side may be anybody. */
import type { ServerHttp2Session } from 'node:http2';
import type { Clock } from './clock.ts';

/** `session` has not emitted a stream yet. The function closes the session in an orderly way once it has had no stream for `idleMs`. */
export function closeWhenIdle(session: ServerHttp2Session, idleMs: number, clock: Clock): void {
  const startTimer = () => clock.after(idleMs, () => session.close());
  let open = 0;
  let timer = startTimer();
  session.on('stream', (stream) => {
    open++;
    timer.stop();
    stream.once('close', () => {
      open--;
      if (open === 0) timer = startTimer();
    });
  });
  session.once('close', () => timer.stop());
}
