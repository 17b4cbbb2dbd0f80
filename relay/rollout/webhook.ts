/** Asks a gate's webhook: one POST of JSON, one answer `{"passed": bool, "message": string}`, within the gate's deadline. */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { GateResult } from '../../core/rollout/gates.ts';
import type { Webhook } from '../../core/rollout/spec.ts';
import type { Egress } from '../../core/runtime/egress.ts';
import { describeError } from '../../core/runtime/errors.ts';

/** Limit for an answer: it is one boolean and one sentence. */
const answerBytesMax = 64 * 1024;
/** Default limit for the time of an answer: as long as a slow query of metrics. A longer limit is not needed, because a gate is asked repeatedly. */
const timeoutSecondsDefault = 10;
/** Limit for the webhook's message in the status, in characters. */
const messageMax = 500;

/** `egress`: decides which addresses the node calls, because the author of the placement chooses the URL. */
export async function askWebhook(webhook: Webhook, question: object, egress: Egress): Promise<GateResult> {
  try {
    egress.checkUrl(webhook.url);
    return readAnswer(await post(webhook, JSON.stringify(question), egress));
  } catch (error) {
    return { passed: false, failed: false, message: `${webhook.url}: ${describeError(error)}` };
  }
}

export function readAnswer(text: string): GateResult {
  const answer = parse(text);
  if (typeof answer !== 'object' || answer === null || !('passed' in answer) || typeof answer.passed !== 'boolean') {
    throw new Error('the answer is not {"passed": true or false, "message": "…"}');
  }
  if (answer.passed) return { passed: true };
  const message =
    'message' in answer && typeof answer.message === 'string' ? answer.message : 'the answer is "passed": false';
  return { passed: false, failed: false, message: message.slice(0, messageMax) };
}

/** The message of the parser would show a part of the answer. The answer may come from a program that is no webhook. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('the answer is not JSON: it must be {"passed": true or false, "message": "…"}');
  }
}

function post(
  { url, timeoutSeconds = timeoutSecondsDefault, caBundle }: Webhook,
  body: string,
  { lookup }: Egress,
): Promise<string> {
  const signal = AbortSignal.timeout(timeoutSeconds * 1000);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const ca = caBundle === undefined ? {} : { ca: Buffer.from(caBundle, 'base64') };
  return new Promise((resolve, reject) => {
    const request = (url.startsWith('https:') ? httpsRequest : httpRequest)(
      url,
      { method: 'POST', headers, signal, lookup, ...ca },
      (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > answerBytesMax) request.destroy(new Error(`more than ${answerBytesMax} bytes of answer`));
          else chunks.push(chunk);
        });
        response.on('end', () => {
          if (response.statusCode === 200) resolve(Buffer.concat(chunks).toString());
          else reject(new Error(`HTTP status ${response.statusCode}`));
        });
        response.on('error', reject);
      },
    );
    request.on('error', (error) => {
      reject(signal.aborted ? new Error(`no answer within ${timeoutSeconds} s`) : error);
    });
    request.on('upgrade', (_, changed) => {
      changed.destroy();
      reject(new Error('the webhook wants to change the protocol (HTTP upgrade): it must answer with JSON'));
    });
    request.end(body);
  });
}
