/**
 * A child with nothing behind its connection: it acknowledges every batch. With such children a parent is measured alone, as raw gRPC is with ends that only
 * answer. Real children do their other work on machines of their own.
 */
import { Buffer } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { systemClock } from '../../core/runtime/clock.ts';
import { versionMax, versionMin } from '../../core/session/handshake.ts';
import { beatEveryMs } from '../../core/session/session.ts';
import { nonceBytes } from '../../core/session/wire-frames.ts';
import { maxFrameBytes } from '../../core/wire/codec/frames.ts';
import { Beat, Feed, type Frame, Hello } from '../../core/wire/generated/mesh.ts';
import { grpcDialer } from '../../core/wire/grpc/grpc-dialer.ts';
import type { Link } from '../../core/wire/link.ts';
import type { NodeCredentials } from '../../core/wire/node-credentials.ts';
import { wayTo } from '../support/ways.ts';

export interface AnsweringChild {
  readonly path: string;
  readonly parent: { readonly address: string; readonly path: string };
  readonly credentials: NodeCredentials;
}

/** Bytes in flight before an answer, the credit of a child of the product. */
const creditBytes = 1024 * 1024;
const nothing = Buffer.alloc(0);

/** Resolves when the child is attached. */
export async function answerMesh({ path, parent, credentials }: AnsweringChild): Promise<void> {
  const dialer = grpcDialer(
    wayTo({ address: parent.address, parentPath: parent.path, credentials, clock: systemClock }),
  );
  const nonce = randomBytes(nonceBytes);
  await new Promise<void>((resolve, reject) => {
    let link: Link | undefined;
    const send = (frame: Frame['frame']) => link?.send({ frame });
    const onFrame = ({ frame }: Frame) => {
      if (frame?.$case === 'batch') {
        const { to: cursor, epoch } = frame.value;
        return void send({ $case: 'ack', value: { feed: Feed.FEED_DOWN, cursor, epoch } });
      }
      if (frame?.$case === 'retry') return reject(new Error(frame.value.message));
      if (frame?.$case !== 'welcome') return;
      send({
        $case: 'resume',
        value: { feed: Feed.FEED_UP, resumes: true, epoch: randomBytes(nonceBytes), incarnation: nonce },
      });
      const beat = () => send({ $case: 'beat', value: { ...Beat.decode(nothing), ready: true } });
      beat();
      setInterval(beat, beatEveryMs);
      resolve();
    };
    const onClose = (error?: Error) => reject(error ?? new Error('the parent has ended the session'));
    const hello: Hello = {
      ...Hello.decode(nothing),
      versionMin,
      versionMax,
      path,
      role: 'agent',
      bootCounter: 1,
      bootNonce: nonce,
      downCreditBytes: creditBytes,
      maxFrameBytes,
      software: 'bench',
      transport: 'grpc',
    };
    dialer.dial({ onFrame, onBytes() {}, onDrain() {}, onClose }, 30_000).then((dialled) => {
      link = dialled;
      send({ $case: 'hello', value: hello });
    }, reject);
  });
}
