/** A process that serves raw streams and nothing else, forked by a benchmark to look at its memory. Ends with its parent. */
import type { NodeCredentials } from '../../core/wire/node-credentials.ts';
import { keepShortLivedYoung } from '../../relay/short-lived.ts';
import { serveRaw } from './raw-grpc.ts';

keepShortLivedYoung();
process.on('disconnect', () => process.exit(0));
process.on('message', (credentials: NodeCredentials) => {
  serveRaw(credentials).then(
    ({ address }) => process.send?.({ address }),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
