/**
 * What a Kubernetes API server answers to `get`, asked in this process over a connection that stays open: a question costs some milliseconds, a kubectl of its
 * own some hundred. For waiting and for reading data; where the words of kubectl are the claim of a test, kubectl runs.
 */
import { createSyncFn } from 'synckit';
import { parseQuestion, type Question } from './question.ts';

/** Shape of the worker's answer: the object or list, or undefined where the server has no such kind or object, or does not answer. */
type Ask = (kubeconfig: string, context: string | undefined, question: Question) => Promise<object | undefined>;

/** Longer than the worker waits for a server that does not answer. */
const answerMsMax = 30_000;

let ask: ReturnType<typeof createSyncFn<Ask>> | undefined;

/**
 * `words`: those of `kubectl get`, for example `'deploy', 'till', '-n', 'shop'`. Throws where the words are none of `question.ts`. `context`: that of the
 * kubeconfig's own choice where it is absent.
 */
export function getObject<T>(kubeconfig: string, words: readonly string[], context?: string): T | undefined {
  ask ??= createSyncFn<Ask>(new URL('./kept-api-worker.ts', import.meta.url).href, { timeout: answerMsMax });
  return ask(kubeconfig, context, parseQuestion(words)) as T | undefined;
}
