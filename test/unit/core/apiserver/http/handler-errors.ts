import { BanyanError } from '../../../../../core/runtime/errors.ts';

/** The error that a request must end with. */
export async function refusalOf(request: Promise<unknown>): Promise<BanyanError> {
  try {
    await request;
  } catch (error) {
    if (error instanceof BanyanError) return error;
    throw error;
  }
  throw new Error('was not refused');
}
