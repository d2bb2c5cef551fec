import { defined } from '../../domain/defined.ts';
import { ERASED } from '../../domain/personal-text.ts';
import { textOwnerOf } from '../../domain/text-owner.ts';
import type { PersonalData } from '../../personal-data/personal-data.ts';
import type { Attempt, DeliveryDocument } from '../delivery.ts';

export type SealedBodies = ReturnType<typeof createSealedBodies>;

/**
 * Bodies with personal texts. A body is stored as it reads once the texts are erased, with the sealed texts beside it. A receiver's
 * answer may repeat the texts, so it is sealed too (docs/decisions/personal-data.md).
 */
export function createSealedBodies({ openTexts, sealText }: Pick<PersonalData, 'openTexts' | 'sealText'>) {
  /** The texts of the body; undefined if it has none. */
  const textsOf = async (delivery: DeliveryDocument) =>
    delivery.sealed && (await openTexts([{ texts: delivery.sealed, of: ownerIn(delivery) }]))[0];

  return {
    /**
     * The body as it is sent now: the same bytes each time, until a subject is forgotten. @throws {MissingSubjectKey} if the texts cannot
     * be opened
     */
    async bodyOf(delivery: DeliveryDocument): Promise<string> {
      return bodyWith(delivery, await textsOf(delivery));
    },

    /** The body of every attempt so far; undefined if one of its texts has been erased since. */
    async bodyAsSent(delivery: DeliveryDocument): Promise<string | undefined> {
      const texts = await textsOf(delivery);
      return Object.values(texts ?? {}).includes(ERASED) ? undefined : bodyWith(delivery, texts);
    },

    /** An attempt as stored with its delivery. */
    async attemptToStore(delivery: DeliveryDocument, attempt: Attempt): Promise<Attempt> {
      const [first] = Object.values(delivery.sealed ?? {});
      if (first === undefined || attempt.answer === '') return attempt;
      const answer = await sealText(first.subject, ownerIn(delivery), ANSWER, attempt.answer);
      return typeof answer === 'string' ? { ...attempt, answer } : { ...attempt, answer: '', sealedAnswer: answer };
    },

    /** Deliveries with their texts opened. */
    async opened(deliveries: readonly DeliveryDocument[]): Promise<DeliveryDocument[]> {
      const holders = deliveries.map(holdersIn);
      const opened = (await openTexts(holders.flat())).values();
      return deliveries.map((delivery, index) => {
        const [texts, ...answers] = (holders[index] ?? []).map(() => opened.next().value);
        if (texts === undefined) return delivery;
        const { sealed: _, ...rest } = delivery;
        const attempts = delivery.attempts.map(({ sealedAnswer: _, ...attempt }, number) => ({
          ...attempt,
          ...answers[number],
        }));
        return { ...rest, attempts, body: bodyWith(delivery, texts) };
      });
    },
  };
}

/** The field of an attempt that holds the receiver's answer. */
const ANSWER = 'answer';

/** The sealed texts of a delivery: those of its body, then the answer to each attempt. */
function holdersIn(delivery: DeliveryDocument) {
  if (delivery.sealed === undefined) return [];
  const of = ownerIn(delivery);
  const answers = delivery.attempts.map(({ sealedAnswer }) => defined({ [ANSWER]: sealedAnswer }));
  return [delivery.sealed, ...answers].map((texts) => ({ texts, of }));
}

function bodyWith({ body }: DeliveryDocument, texts: { readonly [field: string]: string } | undefined): string {
  if (texts === undefined) return body;
  const payload = JSON.parse(body);
  return JSON.stringify({ ...payload, data: { ...payload.data, ...texts } });
}

function ownerIn({ event, body }: DeliveryDocument): string {
  const { data } = JSON.parse(body);
  // A test delivery holds no texts.
  return (event === 'Test' ? undefined : textOwnerOf({ type: event, data })) ?? '';
}
