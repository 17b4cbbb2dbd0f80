/** The program of the thread in body-thread.ts. It receives a question, and sends back the answer or an error. */
import { parentPort } from 'node:worker_threads';
import { BanyanError } from '../../runtime/errors.ts';
import type { BodyAnswer, BodyQuestion, FromThread } from './body-thread.ts';
import { encodedBytes } from './encoded-answer.ts';
import { writeInThread } from './thread-space.ts';
import { yamlToJson } from './yaml-body.ts';

parentPort!.on('message', (question: BodyQuestion) => {
  void answerOf(question).then((answer) => {
    const { user, system } = process.threadCpuUsage();
    parentPort!.postMessage({ answer, usedMs: (user + system) / 1_000 } satisfies FromThread);
  });
});

/** An error of the program, and not of the body, ends the thread. */
async function answerOf(question: BodyQuestion): Promise<BodyAnswer> {
  try {
    if (question.type === 'write') return { written: await writeInThread(question.write) };
    if (question.type === 'encode') return { encoded: encodedBytes(question.encoding, question.json) };
    return { json: yamlToJson(question.text) };
  } catch (error) {
    if (!(error instanceof BanyanError)) throw error;
    return { code: error.code, message: error.message, details: error.details };
  }
}
