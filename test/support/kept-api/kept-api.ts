/**
 * Answers of a Kubernetes API server to `get`. The request runs in this process, over a connection that stays open. A request takes a few milliseconds; a
 * kubectl process takes a few hundred. Use this for waiting and for reading data. A test about kubectl's output runs kubectl.
 */
import { createSyncFn } from 'synckit';
import { parseQuestion, type Question } from './question.ts';

/** The worker returns the object or list. Undefined: the server has no such kind or object, or does not answer. */
type Ask = (kubeconfig: string, context: string | undefined, question: Question) => Promise<object | undefined>;

/** Longer than the worker's own limit for a server that does not answer. */
const answerMsMax = 30_000;

let ask: ReturnType<typeof createSyncFn<Ask>> | undefined;

/**
 * Returns the answer to `kubectl get`. `args`: the arguments of `kubectl get`, for example `'deploy', 'till', '-n', 'shop'`. `context` absent: the
 * kubeconfig's current context. Throws if `question.ts` does not know the arguments.
 */
export function getObject<T>(kubeconfig: string, args: readonly string[], context?: string): T | undefined {
  ask ??= createSyncFn<Ask>(new URL('./kept-api-worker.ts', import.meta.url).href, { timeout: answerMsMax });
  return ask(kubeconfig, context, parseQuestion(args)) as T | undefined;
}
