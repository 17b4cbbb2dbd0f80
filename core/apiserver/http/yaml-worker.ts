/** The program of the thread in yaml-thread.ts. It receives a text, and sends back its JSON or an error. */
import { parentPort } from 'node:worker_threads';
import { BanyanError, describeError } from '../../runtime/errors.ts';
import { parseYaml } from './yaml-body.ts';
import type { YamlAnswer } from './yaml-thread.ts';

parentPort!.on('message', (text: string) => parentPort!.postMessage(answerOf(text)));

function answerOf(text: string): YamlAnswer {
  try {
    return { json: JSON.stringify(parseYaml(text)) };
  } catch (error) {
    return error instanceof BanyanError
      ? { code: error.code, message: error.message }
      : {
          code: 'BadRequest',
          message: `the object provided is unrecognized (must be valid yaml): ${describeError(error)}`,
        };
  }
}
