/** Lists in pages. The pages get smaller if the objects are so large that a page of them does not fit into the memory limit. */
import type { KubeObject } from '../../../core/object/meta.ts';
import { BanyanError } from '../../../core/runtime/errors.ts';
import type { ClusterApiRequest } from './api-client.ts';

/** The page size of client-go: a page of ordinary objects is a few megabytes. */
const pageSizeMax = 500;
/** A page that was too large was read for nothing, so the next try is much smaller. */
const smallerBy = 4;

export interface ListPage {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  /** Null if a list of metadata alone is empty. */
  readonly items?: readonly KubeObject[] | null;
}

export class ListPages {
  readonly #json: (asked: ClusterApiRequest) => Promise<unknown>;
  /** Stays small: objects that were too large once are too large the next time. */
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
