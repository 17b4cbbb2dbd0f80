/**
 * The answers of a Kubernetes API server to `get`, requested in this process over a connection that stays open. A request costs some milliseconds, and a
 * kubectl process some hundred. Use it for waiting and for reading data; a test about kubectl's output runs kubectl.
 */
import { createSyncFn } from 'synckit';
import { parseQuestion, type Question } from './question.ts';

/** Shape of the worker's answer: the object or list, or undefined where the server has no such kind or object, or does not answer. */
type Ask = (kubeconfig: string, context: string | undefined, question: Question) => Promise<object | undefined>;

/** Longer than the worker waits for a server that does not answer. */
const answerMsMax = 30_000;

let ask: ReturnType<typeof createSyncFn<Ask>> | undefined;

/**
 * `words`: the arguments of `kubectl get`, for example `'deploy', 'till', '-n', 'shop'`. Throws if `question.ts` does not know the arguments. `context`: by
 * default the kubeconfig's current one.
 */
export function getObject<T>(kubeconfig: string, words: readonly string[], context?: string): T | undefined {
  ask ??= createSyncFn<Ask>(new URL('./kept-api-worker.ts', import.meta.url).href, { timeout: answerMsMax });
  return ask(kubeconfig, context, parseQuestion(words)) as T | undefined;
}
