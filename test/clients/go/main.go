// Signs in and refreshes with x/oauth2, and calls every operation with a client that oapi-codegen generates.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/oapi-codegen/runtime/types"
	"golang.org/x/oauth2"
)

const redirect = "http://127.0.0.1:9/callback"

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func register(server string) string {
	metadata := must(json.Marshal(map[string]any{
		"client_name":                "oapi-codegen",
		"redirect_uris":              []string{redirect},
		"grant_types":                []string{"authorization_code", "refresh_token"},
		"token_endpoint_auth_method": "none",
	}))
	answer := must(http.Post(server+"/connect/register", "application/json", bytes.NewReader(metadata)))
	var registered struct {
		Id string `json:"client_id"`
	}
	must(0, json.NewDecoder(answer.Body).Decode(&registered))
	return registered.Id
}

func main() {
	var known struct {
		Url                             string
		CommunityKey                    string
		SpaceId, CommunityId, BookingId int64
	}
	must(0, json.Unmarshal([]byte(os.Args[1]), &known))
	ctx := context.Background()
	config := oauth2.Config{
		ClientID:    register(known.Url),
		RedirectURL: redirect,
		Scopes:      []string{"openid", "offline_access", "service.api.read", "service.api.write", "service.api.webhooks"},
		Endpoint: oauth2.Endpoint{
			AuthURL:   known.Url + "/connect/authorize",
			TokenURL:  known.Url + "/connect/token",
			AuthStyle: oauth2.AuthStyleInParams,
		},
	}
	resource := oauth2.SetAuthURLParam("resource", "api")
	verifier := oauth2.GenerateVerifier()
	fmt.Println("OPEN", config.AuthCodeURL("state", oauth2.S256ChallengeOption(verifier), resource))
	input := bufio.NewScanner(os.Stdin)
	input.Scan()
	callback := must(url.Parse(input.Text()))
	token := must(config.Exchange(ctx, callback.Query().Get("code"), oauth2.VerifierOption(verifier), resource))
	first := token.AccessToken
	// The first call refreshes.
	token.Expiry = time.Now().Add(-time.Minute)
	source := oauth2.ReuseTokenSource(token, config.TokenSource(ctx, token))
	client := must(NewClientWithResponses(known.Url+"/api/v1", WithHTTPClient(oauth2.NewClient(ctx, source))))

	statuses := map[string]int{}
	date := types.Date{Time: time.Date(2026, 12, 10, 0, 0, 0, 0, time.UTC)}
	pending, key := Pending, "first"
	statuses["listSpaces"] = must(client.ListSpacesWithResponse(ctx, nil)).StatusCode()
	statuses["getSpace"] = must(client.GetSpaceWithResponse(ctx, known.SpaceId, nil)).StatusCode()
	available := must(client.GetAvailabilityWithResponse(ctx, known.SpaceId, &GetAvailabilityParams{Date: date}))
	statuses["getAvailability"] = available.StatusCode()
	body := CreateBooking{SpaceId: known.SpaceId, StartTime: date, StartHour: available.JSON200.TimeSlots[0].Hour}
	booked := must(client.CreateBookingWithResponse(ctx, &CreateBookingParams{IdempotencyKey: &key}, body))
	statuses["createBooking"] = booked.StatusCode()
	listed := must(client.ListBookingsWithResponse(ctx, &ListBookingsParams{Status: &pending}))
	statuses["listBookings"] = listed.StatusCode()
	statuses["getBooking"] = must(client.GetBookingWithResponse(ctx, known.BookingId, nil)).StatusCode()
	history := must(client.GetBookingHistoryWithResponse(ctx, known.BookingId, nil))
	statuses["getBookingHistory"] = history.StatusCode()
	statuses["listReviews"] = must(client.ListReviewsWithResponse(ctx, known.CommunityId, nil)).StatusCode()
	webhook := CreateWebhook{Url: "https://hooks.example.com/", Events: 15}
	registered := must(client.CreateWebhookWithResponse(ctx, webhook))
	statuses["createWebhook"] = registered.StatusCode()
	statuses["listWebhooks"] = must(client.ListWebhooksWithResponse(ctx)).StatusCode()
	statuses["deleteWebhook"] = must(client.DeleteWebhookWithResponse(ctx, registered.JSON201.Id)).StatusCode()

	to := MoveBooking{StartTime: &types.Date{Time: date.AddDate(0, 0, 1)}}
	asked := must(client.MoveBookingWithResponse(ctx, booked.JSON201.Id, to))
	// The community takes the move by asking for the same.
	houseSource := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: known.CommunityKey})
	house := must(NewClientWithResponses(known.Url+"/api/v1", WithHTTPClient(oauth2.NewClient(ctx, houseSource))))
	moved := must(house.MoveBookingWithResponse(ctx, asked.JSON200.Id, to))
	statuses["moveBooking"] = moved.StatusCode()
	added := must(house.CreateCustomerWithResponse(ctx, CreateCustomer{Name: "Choir"}))
	statuses["createCustomer"] = added.StatusCode()
	search := "choir"
	customers := must(house.ListCustomersWithResponse(ctx, &ListCustomersParams{Q: &search}))
	statuses["listCustomers"] = customers.StatusCode()

	done := map[string]any{
		"moved":      []any{moved.JSON200.Date, moved.JSON200.Status},
		"customers":  []string{(*customers.JSON200)[0].Name},
		"refreshed":  must(source.Token()).AccessToken != first,
		"statuses":   statuses,
		"totalPrice": booked.JSON201.TotalPrice,
		"charged":    (*history.JSON200)[1].Changes["charge"].To,
	}
	fmt.Println(string(must(json.Marshal(done))))
}
