/** Splits the bytes of a watch into lines, and parses the JSON of each complete line. */
import { parseJson } from '../../../core/object/json.ts';

/** Many times the size of etcd's largest object. A longer line can't be a watch event. */
const lineBytesMax = 32 << 20;
const newline = 0x0a;

export class JsonLines {
  #parts: Buffer[] = [];
  #bytes = 0;

  *push(chunk: Buffer): Generator<unknown> {
    let from = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      const line = Buffer.concat([...this.#parts, chunk.subarray(from, end)]).toString('utf8');
      this.#parts = [];
      this.#bytes = 0;
      from = end + 1;
      if (line.trim() !== '') yield parseJson(line);
    }
    if (from === chunk.length) return;
    this.#parts.push(chunk.subarray(from));
    this.#bytes += chunk.length - from;
    if (this.#bytes > lineBytesMax) throw new Error(`a line of the watch is longer than ${lineBytesMax} bytes`);
  }
}
