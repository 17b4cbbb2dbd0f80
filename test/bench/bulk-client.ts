/**
 * The clients of a load as a process of its own, forked by a benchmark, so that their work for TLS and for making objects delays no other measurement. It
 * ends with its parent.
 */
import { NodeApiClient } from '../../center/cli/api-client.ts';
import { Bulk } from './bulk.ts';
import { answerParent } from './forked.ts';

/** The answer to each is the number of accepted writes since `start`. */
export type BulkRequest =
  | { readonly type: 'start'; readonly kubeconfig: string; readonly space: string; readonly perSecond?: number }
  | { readonly type: 'written' }
  | { readonly type: 'stop' };

let bulk: Bulk | undefined;
answerParent(async (request: BulkRequest) => {
  if (request.type === 'stop') await bulk?.stop();
  if (request.type === 'start') {
    bulk = new Bulk(new NodeApiClient(request.kubeconfig), request.space, request.perSecond);
    await bulk.start();
  }
  return bulk?.written ?? 0;
});
