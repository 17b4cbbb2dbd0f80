/** Closes idle HTTP/2 connections. node:http2 keeps a connection open as long as the other side wants, and the other side may be anybody. */
import type { ServerHttp2Session } from 'node:http2';
import type { Clock } from './clock.ts';

/** Closes the session gracefully after it has had no stream for `idleMs`. Call this function before `session` has emitted a stream. */
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
