/** The pages of a list, smaller ones where objects are so large that a page of them is more than what may be in memory at once. */
import type { KubeObject } from '../../../core/object/meta.ts';
import { BanyanError } from '../../../core/runtime/errors.ts';
import type { ClusterApiRequest } from './api-client.ts';

/** What client-go takes: a page of ordinary objects is a few megabytes. */
const pageSizeMax = 500;
/** A page that was too large has been read for nothing, so that the next try is much smaller. */
const smallerBy = 4;

export interface ListPage {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  /** Of metadata alone, null when there are none. */
  readonly items?: readonly KubeObject[] | null;
}

export class ListPages {
  readonly #json: (asked: ClusterApiRequest) => Promise<unknown>;
  /** What turned out to be too large once is so the next time too. */
  #size = pageSizeMax;

  constructor(json: (asked: ClusterApiRequest) => Promise<unknown>) {
    this.#json = json;
  }

  async *of(asked: ClusterApiRequest): AsyncGenerator<ListPage> {
    let next: string | undefined;
    do {
      const page = await this.#page(asked, next);
      yield page;
      next = page.metadata?.continue;
    } while (next);
  }

  async #page(asked: ClusterApiRequest, next: string | undefined): Promise<ListPage> {
    for (;;) {
      const query = { ...asked.query, limit: String(this.#size), ...(next ? { continue: next } : {}) };
      try {
        return (await this.#json({ ...asked, query })) as ListPage;
      } catch (error) {
        if (!(error instanceof BanyanError) || error.code !== 'TooLarge' || this.#size === 1) throw error;
        this.#size = Math.max(1, Math.floor(this.#size / smallerBy));
      }
    }
  }
}
